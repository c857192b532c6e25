#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [--bin=FOLDER] [OPTION]…: measures Weir's cost on this machine, and compares it with the raw driver, PyTorch,
# CuPy, cuda.core, oneTBB, OpenMP and OpenCL, as far as they are installed. Writes build/bench.json;
# docs/tools/performance.py --add makes docs/performance.md from it. Builds first, unless FOLDER contains the programs. Other
# options are passed to bench/measure.py.
set -euo pipefail
cd "$(dirname "$0")/.."
bin='' options=()
for argument in "$@"; do
  case $argument in
    --bin=?*) bin=${argument#--bin=} ;;
    *) options+=("$argument") ;;
  esac
done
if [ -z "$bin" ]; then
  source ci/common.sh
  ci/install-deps.sh
  configure build/bench -DCMAKE_BUILD_TYPE=Release -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_TOOLS=OFF >/dev/null
  cmake --build build/bench
  bin=build/bench/bin
fi
mkdir -p build
exec python3 bench/measure.py "--bin=$bin" --out=build/bench.json "${options[@]}"
