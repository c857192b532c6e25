#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and runs every test: test.sh [--quick] [--require=BACKEND]…
#
#   --quick            leave out the builds with sanitizers (address, undefined behaviour, thread) and with Clang
#   --require=BACKEND  run the conformance suite on that backend, too; that it is not usable here is a failure, not a skip
#
# Ends with "N passed, N failed"; the exit status is 0 if none failed.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/common.sh

quick=false
required=()
for argument in "$@"; do
  case $argument in
    --quick) quick=true ;;
    --require=?*) required+=("${argument#--require=}") ;;
    *)
      printf 'test.sh: unknown option %s; there are --quick and --require=BACKEND\n' "$argument" >&2
      exit 2
      ;;
  esac
done

passed=0 failed=0 skipped=0
heading() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

# count NAME COMMAND…: a test that is one command.
count() {
  local name=$1
  shift
  heading "$name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$name"
  fi
}

# run_ctest FOLDER: all tests of a build, counted one by one.
run_ctest() {
  local folder=$1 log=$1/ctest.log status=0 summary skips
  ctest --test-dir "$folder" --output-on-failure --parallel "$(nproc)" --no-tests=error 2>&1 | tee "$log" || status=$?
  # "97% tests passed, 1 tests failed out of 30"
  summary=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log" | tail -n 1)
  if [ -z "$summary" ]; then
    failed=$((failed + 1))
    return
  fi
  failed=$((failed + ${summary% *}))
  skips=$(grep -c '\*\*\*Skipped' "$log" || true)  # which ctest counts as passed
  skipped=$((skipped + skips))
  passed=$((passed + ${summary#* } - ${summary% *} - skips))
  if [ "$status" != 0 ] && [ "${summary% *}" = 0 ]; then failed=$((failed + 1)); fi
}

# build NAME OPTION…: in build/ci-NAME.
build() {
  local name=$1 folder=build/ci-$1
  shift
  heading "building $name"
  if ! { configure "$folder" "$@" && cmake --build "$folder"; } >"$folder.log" 2>&1; then
    tail -n 60 "$folder.log"
    printf 'FAILED: the build %s; its whole log is in %s.log\n' "$name" "$folder"
    failed=$((failed + 1))
    return 1
  fi
}

# build_and_test NAME OPTION…
build_and_test() {
  build "$@" || return 0
  heading "testing $1"
  run_ctest "build/ci-$1"
}

# oneTBB is not built with the thread sanitizer; the file leaves out what is its own.
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:${TSAN_OPTIONS-}"

mkdir -p build
ci/install-deps.sh
build_and_test release -DCMAKE_BUILD_TYPE=Release -DWEIR_WERROR=ON
for backend in "${required[@]}"; do
  count "conformance on $backend" build/ci-release/bin/weir-conformance "--require=$backend"
done
if ! $quick; then
  # What runs on this machine's CPU: the core, the host backend, the suites. Little optimization, for the sake of time.
  sanitized=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG"
    -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HIP=OFF -DWEIR_BUILD_BENCH=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_TOOLS=OFF)
  build_and_test asan "${sanitized[@]}" -DWEIR_SANITIZE=address,undefined
  build_and_test tsan "${sanitized[@]}" -DWEIR_SANITIZE=thread
  # That the other compiler takes libraries, tools and benchmarks without a warning; not what it makes of them.
  if command -v clang++ >/dev/null && build clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=None -DWEIR_WERROR=ON \
    -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_TESTS=OFF; then
    passed=$((passed + 1))
  fi
fi

heading "done"
printf '%d skipped: what they need is not on this machine, see above\n' "$skipped"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
