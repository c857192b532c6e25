#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the tests of the HIP backend. Removes one row of its table of quirks, or applies one change in mutations.py, and runs
# the driver tests, which must then fail. Repeats this for all rows and changes: mutations.sh [--table | NAME…]
#
#   --table  only the rows, which takes half the time
#
# The changed copy of the tree is built in build/ci-mutations. If no test detects a mutation, it is listed as a survivor.
#
# Ends with "N mutations, N survivors"; the exit status is 0 if none survived.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/ci-mutations
launcher=()
if command -v ccache > /dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
if [ ! -d /usr/include/hip ] && [ ! -d /opt/rocm/include/hip ]; then
  echo "mutations.sh: there are no headers of HIP here"
  exit 77
fi
python3 ci/mutations.py "$build/source"
cmake -S "$build/source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1" -DWEIR_LTO=OFF -DWEIR_BUILD_BENCH=OFF \
  -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HOST=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON "${launcher[@]}" > "$build/configure.log"
if grep '^-- HIP bridge: not built' "$build/configure.log"; then exit 77; fi
cmake --build "$build" --target weir_hip_driver_tests weir_hip_mutations > /dev/null

# Returns 0 if the tests pass, so that they have not detected the mutation. A hang counts as detection.
run_tests() {
  WEIR_TEST_MUTATION=$1 timeout --signal=KILL 300 "$build/bin/weir_hip_driver_tests" --abort-after=1 "${@:2}" > "$build/mutation.log" 2>&1
}
# Prints the first failed test case.
failed_case() { sed -n 's/^TEST CASE:  *//p' "$build/mutation.log" | head -n 1; }

# Some test cases depend on timing, and this machine may be busy. So try three times.
if ! run_tests "" && ! run_tests "" && ! run_tests ""; then
  cat "$build/mutation.log"
  printf 'mutations.sh: the tests fail without any mutation\n' >&2
  exit 2
fi
if [ $# -gt 0 ] && [ "$1" != --table ]; then
  names=("$@")
else
  mapfile -t names < <("$build/bin/weir_hip_mutations"; if [ $# -eq 0 ]; then python3 ci/mutations.py --names; fi)
fi
survivors=()
for name in "${names[@]}"; do
  killer=
  for _ in 1 2 3; do
    run_tests "$name" && break
    killer=$(failed_case)
    # The mutation is the cause if the test case alone fails with it and passes without it. doctest separates patterns by
    # commas.
    case_alone=--test-case=${killer//,/\\,}
    if [ -n "$killer" ] && { run_tests "$name" "$case_alone" || ! run_tests "" "$case_alone"; }; then
      killer=
      continue
    fi
    killer=${killer:-"(hangs, or ends the process)"}
    break
  done
  if [ -z "$killer" ]; then
    survivors+=("$name")
    printf 'survives  %s\n' "$name"
  else
    printf 'killed    %-32s %s\n' "$name" "$killer"
  fi
done
printf '%d mutations, %d survivors\n' "${#names[@]}" "${#survivors[@]}"
[ "${#survivors[@]}" = 0 ]
