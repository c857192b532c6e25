#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nightly.sh [MINUTES]: looks for rare faults in the release build of ci/test.sh. Compares random programs with the
# sequential model for MINUTES (60), random kernels in each tier with fibers, prototypes with the headers of several
# releases, and the porting tables with the newest headers. Runs the suite in random orders, and through the bridge as each
# release of HIP. Tests mutations of the HIP backend. Then it runs the benchmarks, and writes their times to
# build/nightly-bench.json for ci/trend.sh. The last line contains the number of parts that passed and failed.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1-60}
ci/test.sh --stage=release
bin=build/ci-release/bin
seed=$(date +%Y%m%d)  # printed, so that a failure can be reproduced
passed=0 failed=0
part() {
  printf '\n== %s (%d s)\n' "$*" "$SECONDS"
  local status=0
  "$@" || status=$?
  case $status in
    0) passed=$((passed + 1)) ;;
    77) printf 'skipped: %s\n' "$*" ;;  # what it needs is not here
    *) failed=$((failed + 1)); printf 'FAILED: %s\n' "$*" ;;
  esac
}
export WEIR_BACKEND=host
part "$bin/weir-stress" "--seconds=$((minutes * 60))" "--seed=$seed"
part "$bin/weir_kernel_differ" "--seconds=$((minutes * 20))" "--seed=$seed"
for ((i = 0; i < 5; ++i)); do
  part "$bin/weir-conformance" --require=host --order-by=rand "--rand-seed=$((seed + i))"
done
if [ -d /usr/include/hip ] || [ -d /opt/rocm/include/hip ]; then part ci/mutations.sh; fi
if [ -d build/ci-release/lib/cpu_cuda ]; then part env -u WEIR_BACKEND ci/bridge_on_cpu.sh build/ci-release; fi
part ci/prototypes.sh
part ci/new_functions.sh
source ci/common.sh
build_bench() {
  configure build/bench -DCMAKE_BUILD_TYPE=Release -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_TOOLS=OFF >/dev/null &&
    cmake --build build/bench --target weir-bench-host
}
part build_bench
part build/bench/bin/weir-bench-host --benchmark_repetitions=5 --benchmark_out=build/nightly-bench.json --benchmark_out_format=json
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
