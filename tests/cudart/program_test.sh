#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# program_test.sh WEIR OPTION... SOURCE: compiles a whole CUDA program for the CPU with `weir c++`, and runs it there. The
# variable RUN_WITH has words before the program, such as those of `weir race`, and THEN a command that follows it in the same
# folder; KERNELS names a source that becomes kernels.fatbin there. Exits 77, so that ctest skips the test, if this machine has
# no Clang for which there is a work-group pass, or no OpenMP for it.
set -u
weir=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
target=host
# The default needs AVX2.
if [ "$(uname -m)" = x86_64 ] && ! grep -q -w avx2 /proc/cpuinfo; then target='host x86-64'; fi
if ! "$weir" c++ --for "$target" "$@" -o "$folder/program" >"$folder/log" 2>&1; then
  cat "$folder/log" >&2
  grep -q -e 'no Clang of version' -e 'cannot find -lomp' "$folder/log" && exit 77
  exit 1
fi
if [ -n "${KERNELS-}" ]; then "$weir" c++ --for "$target" -fatbin "$KERNELS" -o "$folder/kernels.fatbin" || exit 1; fi
cd "$folder" || exit 1
export WEIR_BACKEND=host
# shellcheck disable=SC2086  # several words
${RUN_WITH-} ./program && ${THEN-true}
