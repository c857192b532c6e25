#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demonstration: demo.sh [FILE]. Installs dependencies, builds, and draws the entropy of FILE, by default the C library,
# on the best device of this machine, and checks the result on the CPU. The picture goes to build/demo.
set -euo pipefail

if [ $# -gt 1 ] || [[ ${1-} == -* ]]; then
  sed -n '3,4s/^# //p' "$0" >&2
  exit 2
fi
file=${1-}
if [ -n "$file" ]; then
  if [ ! -f "$file" ] || [ ! -r "$file" ] || [ ! -s "$file" ]; then
    printf 'demo.sh: %s is no file with content that can be read; name another\n' "$file" >&2
    exit 2
  fi
  file=$(realpath -- "$file")
else
  # The C library of this shell.
  file=$(sed -n 's|^[^/]*\(/.*/libc\.so\.6\)$|\1|p; s|^[^/]*\(/.*/libc-2[^/]*\.so\)$|\1|p' /proc/self/maps | head -n 1)
fi
cd "$(dirname "$0")/.."
source ci/common.sh

ci/install-deps.sh --build
mkdir -p build
if ! configure build/demo -DCMAKE_BUILD_TYPE=Release -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=OFF -DWEIR_BUILD_TOOLS=OFF \
  -DCMAKE_UNITY_BUILD=ON >build/demo.log 2>&1; then
  cat build/demo.log
  exit 1
fi
# Show which backends are built, because that depends on the installed headers.
grep -E '^-- (CUDA backend|HIP backend|Work-group pass):' build/demo.log || true
say_remedies build/demo.log
cmake --build build/demo --target entropy
echo
exec build/demo/bin/entropy --verify --png "build/demo/$(basename -- "$file").entropy.png" -- "$file"
