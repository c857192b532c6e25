#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages needed to build and test Weir, on Debian 12 or Ubuntu 24.04 and later: install-deps.sh [--build].
# First checks which of them are present, from any source, and prints the others. If there is nothing to install, it needs no
# network and no privileges. If an optional package is not available, reports the consequence and continues. With --build,
# installs only the packages for building the libraries, the command and the examples on this machine.
set -euo pipefail
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

only_build=false
case $* in
  '') ;;
  --build) only_build=true ;;
  *)
    printf 'install-deps.sh: unknown option %s; there is --build\n' "$*" >&2
    exit 2
    ;;
esac

say() { printf 'install-deps: %s\n' "$*"; }

has_command() { command -v "$1" >/dev/null; }
has_header() { has_command g++ && printf '#include <%s>\n' "$1" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }

# PACKAGE|PROBE|PURPOSE: the package is installed only if the probe fails.
needed=(
  "g++|command g++|the compiler"
  "libc6-dev|header unistd.h|the system's headers"
  "cmake|command cmake|the build"
  "ninja-build|command ninja|the build"
  "libfmt-dev|header fmt/format.h|the core"
  "libasio-dev|header asio.hpp|collectives between processes"
  "libtbb-dev|header tbb/task_arena.h|the host backend"
  "libxxhash-dev|header xxhash.h|the host backend's kernel cache"
  "libcli11-dev|header CLI/CLI.hpp|the command and the examples"
  "nlohmann-json3-dev|header nlohmann/json.hpp|the command and the examples"
  "libpng-dev|header png.h|the entropy example's picture"
)
for_tests=(
  "doctest-dev|header doctest/doctest.h|tests"
  "libbenchmark-dev|header benchmark/benchmark.h|benchmarks"
)
# Optional packages, installed if the distribution has them.
wanted=(
  "valgrind|header valgrind/callgrind.h|the count of instructions in each call"
  "libamdhip64-dev|header hip/hip_runtime_api.h|the HIP backend"
  "python3|command python3|the checks of the pages"
  "python3-dev|command python3-config|the Python package"
  "python3-venv|module ensurepip|the Python package"
  "python3-numpy|module numpy|the tests of the Python package"
  "python3-pytest|module pytest|the tests of the Python package"
  "libdlpack-dev|header dlpack/dlpack.h|the test of DLPack tensors"
  "openmpi-bin|command mpirun|the tests of collectives between processes"
  "libgloo-dev|header gloo/transport/unbound_buffer.h|collectives over Gloo"
  "doxygen|command doxygen|the reference as HTML"
  "abigail-tools|command abidiff|the comparison of the C interface with its first release"
)

is_there() {  # KIND NAME
  case $1 in
    command) has_command "$2" ;;
    module) has_command python3 && python3 -c "import $2" 2>/dev/null ;;
    header)
      # HIP's headers do not compile without a macro that selects the vendor, so only check that they exist.
      if [[ $2 == hip/* ]]; then [ -e "/usr/include/$2" ] || [ -e "/opt/rocm/include/$2" ]; else has_header "$2"; fi
      ;;
  esac
}

# collect LIST ENTRY…: appends the entries whose packages are missing, without their probes.
collect() {
  local -n list=$1
  local entry package probe purpose
  shift
  for entry in "$@"; do
    IFS='|' read -r package probe purpose <<<"$entry"
    # shellcheck disable=SC2086  # the probe is two words
    is_there $probe || list+=("$package|$purpose")
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif has_command sudo; then
    sudo "$@"
  else
    say "run this as root, or install sudo"
    return 1
  fi
}
install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null; }
is_in_distribution() { [ -n "$(apt-cache show "$1" 2>/dev/null)" ]; }

required=() optional=()
collect required "${needed[@]}"
if ! $only_build; then
  collect required "${for_tests[@]}"
  collect optional "${wanted[@]}"
elif [ -e /dev/kfd ]; then  # HIP's headers depend on a compiler, so install them only with AMD's driver
  collect optional "${wanted[1]}"
fi
major=$(pass_major)

if [ ${#required[@]} != 0 ]; then
  if ! has_command apt-get; then
    say "there is no apt-get here; install these by other means: ${required[*]%%|*}"
    exit 1
  fi
  as_root apt-get update -qq || { say "these packages are missing: ${required[*]%%|*}"; exit 1; }
  packages=()
  for entry in "${required[@]}"; do
    package=${entry%%|*}
    if ! is_in_distribution "$package"; then
      say "this distribution has no $package, which is needed for ${entry#*|}"
      exit 1
    fi
    say "installing $package, for ${entry#*|}"
    packages+=("$package")
  done
  install "${packages[@]}"
elif [ ${#optional[@]} != 0 ] || [ -z "$major" ]; then
  as_root apt-get update -qq || true
fi
# install_optional PURPOSE PACKAGE…: installs packages if they are available.
install_optional() {
  local purpose=$1 package
  shift
  for package in "$@"; do is_in_distribution "$package" || return; done
  say "installing $*, for $purpose"
  install "$@" || { say "installing $* failed"; return 1; }
}
for entry in "${optional[@]}"; do
  install_optional "${entry#*|}" "${entry%%|*}" || say "there is no ${entry%%|*}: going on without ${entry#*|}"
done
if [ -z "$major" ]; then
  for major in "${pass_majors[@]}"; do
    if is_in_distribution "clang-$major" && is_in_distribution "llvm-$major-dev"; then
      install_optional "the CPU's kernels" "clang-$major" "llvm-$major-dev" || true
      break
    fi
  done
  [ -n "$(pass_major)" ] ||
    say "there is no Clang of the releases ${pass_majors[*]} with LLVM's headers: going on without; the CPU's kernels are compiled" \
      "by g++ then, and those with barriers run on fibers, up to 46 times slower"
fi

# Ubuntu 22.04's CMake is too old. Then install a newer one into a folder of the user.
if ! cmake_is_new_enough; then
  say "installing CMake $cmake_needed or later into $tools, because $(cmake --version | head -n 1) is too old"
  if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    install python3-venv
  fi
  python3 -m venv "$tools"
  "$tools/bin/pip" --quiet install "cmake>=$cmake_needed,<4"
fi
say "all there"
