#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs dependencies, builds, and runs the tests: test.sh [--all | --stage=STAGE…] [--require=BACKEND]… [--no-install]
#
#   --all              all stages, in the order below
#   --stage=STAGE      that stage; may be given several times. Without this option, the first stage
#   --require=BACKEND  also run the conformance suite on that backend; a backend that is not usable fails instead of being skipped.
#                      Its results go to build/conformance-BACKEND.json
#   --no-install       install no packages: a missing one is an error, or leaves tests out
#
#   lint      formats, shell scripts, workflows: as far as the tools are installed
#   release   the libraries as they are shipped, with the tests of all parts
#   long      in the same build, the tests that take a minute or more each (the label "long" in ctest)
#   debug     a plain Debug build, with the CUDA and HIP backends, and without the work-group pass: kernels run on fibers
#   asan      in Debug, with the address and undefined-behaviour sanitizers and with assertions, including those of the standard
#             library and oneTBB: the core, the host backend and the suites
#   tsan      with the thread sanitizer: the core and the host backend, by the suite, the stress of streams and of collectives, and
#             the unit tests
#   clang     the other compiler accepts libraries, tools and benchmarks without a warning
#   mutations the tests of the HIP backend detect the removal of each row of its table of quirks
#   amd       AMD's own compilers accept every kernel, in a root with ROCm that ci/amd_root.sh makes
#   packages  Debian packages and the static library, each installed separately and used by a project
#
# CXX selects the compiler, as in CMake. For each stage it prints the time taken and the share of processor time.
# Ends with "N passed, N failed"; the exit status is 0 if none failed.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/common.sh

all_stages=(lint release long debug asan tsan clang mutations amd packages)
stages=() required=() install=true
for argument in "$@"; do
  case $argument in
    --all) stages=("${all_stages[@]}") ;;
    --stage=?*)
      stage=${argument#--stage=}
      if [[ " ${all_stages[*]} " != *" $stage "* ]]; then
        printf 'test.sh: there is no stage %s; there are %s\n' "$stage" "${all_stages[*]}" >&2
        exit 2
      fi
      stages+=("$stage")
      ;;
    --no-install) install=false ;;
    --require=cuda | --require=hip | --require=host) required+=("${argument#--require=}") ;;
    *)
      printf 'test.sh: unknown option %s; there are --all, --stage=STAGE, --no-install and --require=cuda, hip or host\n' "$argument" >&2
      exit 2
      ;;
  esac
done
if [ ${#stages[@]} = 0 ]; then stages=(release); fi
if [ ${#required[@]} != 0 ] && [[ " ${stages[*]} " != *" release "* ]]; then
  echo "test.sh: --require is for the stage release, which is not among those that were asked for" >&2
  exit 2
fi

passed=0 failed=0 skipped=0 targets=(all)
heading() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

# cpu_seconds: sets `cpu` to the processor time, in seconds, of this script's ended child processes.
cpu_seconds() {
  times >build/times  # not in a subshell, which would print its own times. The second line is the children's: 3m2.456s 0m1.234s
  cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; ++i) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] } printf "%d", sum }' build/times)
}

# count NAME COMMAND…: runs a test that is one command, and counts its result. Exit status 77 means that a requirement is
# missing.
count() {
  local name=$1 status=0
  shift
  heading "$name"
  "$@" || status=$?
  case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *)
      failed=$((failed + 1))
      printf 'FAILED: %s\n' "$name"
      ;;
  esac
}

# run_ctest FOLDER OPTION…: runs tests of a build, and counts the result of each one.
run_ctest() {
  local folder=$1 log=$1/ctest.log status=0 summary skips
  shift
  # Run one more test than there are processors, because some tests only wait for a timeout.
  ctest --test-dir "$folder" --output-on-failure --parallel $(($(nproc) + 1)) --no-tests=error "$@" 2>&1 | tee "$log" || status=$?
  # ctest prints, for example: "97% tests passed, 1 tests failed out of 30"
  summary=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log" | tail -n 1)
  if [ -z "$summary" ]; then
    failed=$((failed + 1))
    return
  fi
  failed=$((failed + ${summary% *}))
  skips=$(grep -c '\*\*\*Skipped' "$log" || true)  # ctest counts these as passed
  skipped=$((skipped + skips))
  passed=$((passed + ${summary#* } - ${summary% *} - skips))
  if [ "$status" != 0 ] && [ "${summary% *}" = 0 ]; then failed=$((failed + 1)); fi
}

# progress: reads Ninja's output from standard input, and prints a line for each tenth of the steps.
progress() {
  awk 'match($0, /^\[[0-9]+\/[0-9]+\]/) {
    split(substr($0, 2, RLENGTH - 2), step, "/")
    tenth = int(10 * step[1] / step[2])
    if (tenth > last) { last = tenth; printf "   %d of %d steps\n", step[1], step[2]; fflush() }
  }'
}

# build NAME OPTION…: builds the targets in `targets`, by default all, in build/ci-NAME.
build() {
  local name=$1 folder=build/ci-$1
  shift
  heading "building $name; the whole log is in $folder.log"
  if ! { configure "$folder" "$@" && cmake --build "$folder" --target "${targets[@]}"; } 2>&1 | tee "$folder.log" | progress; then
    tail -n 60 "$folder.log"
    printf 'FAILED: the build %s; its whole log is in %s.log\n' "$name" "$folder"
    failed=$((failed + 1))
    return 1
  fi
}

mkdir -p build
if $install; then
  ci/install-deps.sh
fi
# Build the work-group pass for one installed LLVM release, if there is one.
major=$(pass_major)
pass=("-DWEIR_WORKGROUP=${major:-OFF}")

python_options build/python

# A unity build, which is the default. The stage debug compiles all files separately.
together=(-DCMAKE_UNITY_BUILD=ON)

# The stages release, long and packages share one build. It has the prefix that packages need, because the prefix determines
# the library's folder. The packages contain the benchmarks.
release_options=(-DCMAKE_BUILD_TYPE=Release -DWEIR_WERROR=ON -DCMAKE_INSTALL_PREFIX=/usr -DWEIR_BUILD_BENCH=OFF "${pass[@]}" "${together[@]}")
stage_release() {
  build release "${release_options[@]}" "${python[@]}" || return 0
  say_remedies build/ci-release.log
  heading "testing release"
  run_ctest build/ci-release --label-exclude long
}

stage_long() {
  build release "${release_options[@]}" "${python[@]}" || return 0
  heading "testing release, what takes long"
  run_ctest build/ci-release --label-regex long
}

stage_debug() {
  build debug -DCMAKE_BUILD_TYPE=Debug -DWEIR_WERROR=ON -DWEIR_BUILD_BENCH=OFF -DWEIR_WORKGROUP=OFF \
    -DCMAKE_UNITY_BUILD=OFF || return 0
  heading "testing debug"
  # Leave out pages and packages, which the stage release tests.
  run_ctest build/ci-debug --label-exclude '^(long|docs)$' --exclude-regex '^packaging\.'
}

# To save time, compile only code for this machine's CPU, with little optimization. Leave out tests that run compilers or
# scripts, because the sanitizers do not check those.
sanitized=("${together[@]}" -DCMAKE_BUILD_TYPE=Debug -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HIP=OFF -DWEIR_BUILD_BENCH=OFF
  -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_TOOLS=OFF)
not_sanitized=(--label-exclude '^(long|docs)$' --exclude-regex '^(unit\.refused|demo\.|ci\.)')
stage_asan() {
  build asan "${sanitized[@]}" "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1 -DTBB_USE_DEBUG -D_GLIBCXX_ASSERTIONS" \
    -DWEIR_SANITIZE=address,undefined || return 0
  heading "testing asan"
  run_ctest build/ci-asan "${not_sanitized[@]}"
}

stage_tsan() {
  local targets=(weir-conformance weir_conformance_program_tests weir-stress weir-collectives weir_collectives_tests weir_unit_tests
    weir_late_load weir_collectives_story weir_mpi_ranks weir_store_tests weir_job weir_c_tests)
  build tsan "${sanitized[@]}" "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1 -DNDEBUG" -DWEIR_SANITIZE=thread || return 0
  heading "testing tsan"
  # oneTBB is not built with the thread sanitizer, so the file suppresses reports from it. Leave out conformance-program,
  # because its time limit is too short for some cases under this sanitizer, and runs with fewer features, because they run
  # less code.
  TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:${TSAN_OPTIONS-}" \
    run_ctest build/ci-tsan --label-exclude '^(long|docs)$' --exclude-regex '^(unit\.refused|conformance-program|conformance\.host\.(few_features|no_capture)$)' \
    --tests-regex '^(c\.|collectives|conformance|stress|unit)'
}

# Builds only; the tests do not run here.
stage_clang() {
  command -v clang++ >/dev/null || { skipped=$((skipped + 1)); return 0; }
  if build clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=None -DWEIR_WERROR=ON -DWEIR_BUILD_EXAMPLES=OFF \
    -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=ON "${together[@]}" "${pass[@]}"; then
    passed=$((passed + 1))
  fi
}

stage_mutations() { count "mutations of the table of quirks" ci/mutations.sh --table; }

stage_amd() {
  build release "${release_options[@]}" "${python[@]}" || return 0
  count "AMD's compilers" ci/amd_root.sh build/amd-root build/ci-release
}

stage_packages() {
  build release "${release_options[@]}" "${python[@]}" -DWEIR_BUILD_BENCH=ON || return 0
  count "Debian packages" ci/packages_test.sh build/ci-release
  count "the static library" ci/static_test.sh
}

stage_lint() { count "lint" ci/lint.sh; }

for stage in "${stages[@]}"; do
  begin=$SECONDS
  cpu_seconds && cpu_before=$cpu
  "stage_$stage"
  if [ "$stage" = release ]; then
    for backend in "${required[@]}"; do
      count "conformance on $backend" build/ci-release/bin/weir-conformance "--require=$backend" \
        "--json=build/conformance-$backend.json"
    done
  fi
  cpu_seconds
  printf '\n-- %s: %d s, %d s of processors; %d passed, %d failed, %d skipped so far\n' "$stage" $((SECONDS - begin)) \
    $((cpu - cpu_before)) "$passed" "$failed" "$skipped"
done

heading "done"
printf '%d skipped: what they need is not on this machine, see above\n' "$skipped"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
