#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Weir is built and tested with, on Debian 12 or Ubuntu 24.04 and later: install-deps.sh [--build]. Looks first what
# is there, by whatever means it came, and says what it installs; with nothing to install it needs neither network nor privileges.
# With --build it installs what the libraries, the command and the examples are built with on this machine, and no more: half
# as much to load.
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

# PACKAGE, what shows that it is there, and what it is for.
needed=(
  "g++|command g++|the compiler"
  "libc6-dev|header unistd.h|the system's headers"
  "cmake|command cmake|the build"
  "ninja-build|command ninja|the build"
  "libfmt-dev|header fmt/format.h|the core"
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
# Built against where the distribution has it; Weir is whole without.
wanted=(
  "valgrind|header valgrind/callgrind.h|the count of instructions in each call"
  "libamdhip64-dev|header hip/hip_runtime_api.h|the HIP backend"
  "python3|command python3|the checks of the pages"
  "openmpi-bin|command mpirun|the tests of collectives between processes"
  "doxygen|command doxygen|the reference as HTML"
)

is_there() {  # KIND NAME
  case $1 in
    command) has_command "$2" ;;
    header)
      # HIP's headers do not say by themselves for which vendor they are meant.
      if [[ $2 == hip/* ]]; then [ -e "/usr/include/$2" ] || [ -e "/opt/rocm/include/$2" ]; else has_header "$2"; fi
      ;;
  esac
}

missing=()
collect() {  # ENTRY…
  local entry package probe purpose
  for entry in "$@"; do
    IFS='|' read -r package probe purpose <<<"$entry"
    # shellcheck disable=SC2086  # the probe is two words
    is_there $probe || missing+=("$package|$purpose")
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif has_command sudo; then
    sudo "$@"
  else
    say "these packages are missing: ${missing[*]%%|*}"
    say "run this as root, or install sudo"
    return 1
  fi
}

if ! $only_build; then
  collect "${needed[@]}" "${for_tests[@]}" "${wanted[@]}"
else
  collect "${needed[@]}"
  # HIP's headers bring a compiler with them; they are of use where AMD's driver is.
  if [ -e /dev/kfd ]; then collect "${wanted[1]}"; fi
fi
if [ ${#missing[@]} != 0 ]; then
  if ! has_command apt-get; then
    say "there is no apt-get here; install these by other means: ${missing[*]%%|*}"
    exit 1
  fi
  as_root apt-get update -qq
  packages=()
  for entry in "${missing[@]}"; do
    package=${entry%%|*}
    if [ -n "$(apt-cache show "$package" 2>/dev/null)" ]; then
      say "installing $package, for ${entry#*|}"
      packages+=("$package")
    elif [[ " ${wanted[*]} " == *" $package|"* ]]; then
      say "this distribution has no $package: building without ${entry#*|}"
    else
      say "this distribution has no $package, which is needed for ${entry#*|}"
      exit 1
    fi
  done
  if [ ${#packages[@]} != 0 ]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null
  fi
fi

# Ubuntu 22.04's CMake is too old: a newer one goes into a folder of the user's.
if ! cmake_is_new_enough; then
  say "installing CMake $cmake_needed or later into $tools, because $(cmake --version | head -n 1) is too old"
  if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
  fi
  python3 -m venv "$tools"
  "$tools/bin/pip" --quiet install "cmake>=$cmake_needed,<4"
fi
say "all there"
