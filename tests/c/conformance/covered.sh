#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covered.sh PROGRAM: checks that PROGRAM, the suite through the C interface, calls the functions of streams, devices,
# events, graphs and kernels only through C. The functions listed here are exceptions.
set -euo pipefail
export LC_ALL=C
classes='Device|Event|Graph|GraphExec|Kernel|MemoryPool|Module|Stream'
direct=$(nm -DC --undefined-only "$1" | sed -En "s/^ *U (weir::($classes)::[a-z_0-9]*).*/\\1/p" | sort -u)
# C has a state and a text instead of the suspects and the subject; C has no exceptions for `capture` to survive; and it tells tools
# nothing of a kernel's memory. Partitions are in C++ alone.
listed="weir::Device::health
weir::Device::partition
weir::Stream::capture_call
weir::Stream::launch_checked
weir::Stream::pending"
if ! diff <(echo "$listed") <(echo "$direct"); then
  echo "the suite calls these in C++ alone (>): define them in tests/c/conformance by their C functions, or list them with a reason"
  exit 1
fi
