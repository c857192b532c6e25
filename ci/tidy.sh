#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy on the libraries and the command, with the checks in .clang-tidy: tidy.sh [FILE]…. Each finding is a
# failure.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/common.sh
ci/install-deps.sh
command -v clang-tidy >/dev/null || { echo "tidy: clang-tidy is not here"; exit 77; }
configure build/ci-tidy -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=None -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_BENCH=OFF >/dev/null
files=("$@")
if [ ${#files[@]} = 0 ]; then
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",*$/\1/p' build/ci-tidy/compile_commands.json | sort -u)
fi
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/ci-tidy --quiet --warnings-as-errors='*'
echo "tidy: nothing found in ${#files[@]} files"
