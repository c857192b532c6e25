#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covered.sh PROGRAM: of the functions of streams, devices, events, graphs and kernels that the suite calls, PROGRAM, the suite through
# the C interface, calls none directly but those that are listed here.
set -euo pipefail
export LC_ALL=C
classes='Device|Event|Graph|GraphExec|Kernel|MemoryPool|Module|Stream'
direct=$(nm -DC --undefined-only "$1" | sed -En "s/^ *U (weir::($classes)::[a-z_0-9]*).*/\\1/p" | sort -u)
# C has a state and a text instead of the suspects and the subject; the vendor's number of a level is the priority of a stream of that
# level; C has no exceptions for `capture` to survive; and it tells tools nothing of a kernel's memory. Partitions, conditional nodes
# with several bodies, and graphs that are changed or built by hand are in C++ alone.
listed="weir::Device::health
weir::Device::partition
weir::Device::priority_number
weir::GraphExec::apply
weir::Stream::capture_call
weir::Stream::capture_if
weir::Stream::capture_switch
weir::Stream::last_captured_node
weir::Stream::launch_watched
weir::Stream::pending
weir::Stream::set_capture_dependencies"
if ! diff <(echo "$listed") <(echo "$direct"); then
  echo "the suite calls these in C++ alone (>): define them in tests/c/conformance by their C functions, or list them with a reason"
  exit 1
fi
