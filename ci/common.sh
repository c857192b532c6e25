# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions that the scripts in this folder share. Scripts source this file.

cmake_needed=3.25

# Newer versions of tools that are too old in the distribution.
tools=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/weir/tools
PATH=$tools/bin:$PATH

cmake_is_new_enough() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/.*version //p')
  [ "$(printf '%s\n' "$cmake_needed" "$version" | sort -V | head -n 1)" = "$cmake_needed" ]
}

# The releases of LLVM that the work-group pass supports, in order of preference for installation.
pass_majors=(19 18 20 17 16)

# pass_major: prints the first of these releases whose Clang and plugin headers are installed; prints nothing if there is
# none.
pass_major() {
  local major
  for major in "${pass_majors[@]}"; do
    if command -v "clang++-$major" >/dev/null && command -v "llvm-config-$major" >/dev/null &&
      [ -e "$("llvm-config-$major" --includedir)/llvm/Passes/PassPlugin.h" ]; then
      echo "$major"
      return
    fi
  done
}

# With precompiled headers, ccache needs this setting.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}

ci_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# configure BUILD_FOLDER OPTION…: configures with Ninja, and with ccache if it is installed.
configure() {
  local folder=$1
  shift
  local launcher=()
  if command -v ccache >/dev/null; then launcher=("-DCMAKE_CXX_COMPILER_LAUNCHER=$ci_folder/ccache.sh"); fi
  cmake -G Ninja -B "$folder" "${launcher[@]}" "$@"
}

# say_remedies LOG [ROOT]: LOG is the output of a configuration. If it leaves out a backend although the vendor's driver runs
# on this machine, prints how to get that backend built. ROOT replaces / in tests.
say_remedies() {
  local log=$1 root=${2-}
  if [ -e "$root/proc/driver/nvidia/version" ] && grep -q '^-- CUDA backend: not built' "$log"; then
    echo "NVIDIA's driver is here, but not the headers for the CUDA backend: install CUDA Toolkit 12 or later (its packages" \
      "cuda-cudart-dev and cuda-nvrtc-dev are enough), or name the headers' folder with -DWEIR_CUDA_INCLUDE_DIR=…"
  fi
  if [ -e "$root/dev/kfd" ] && grep -q '^-- HIP backend: not built' "$log"; then
    echo "AMD's driver is here, but not the headers for the HIP backend: install HIP 5.2 or later (Debian: libamdhip64-dev," \
      "ROCm: hip-dev), or name the headers' folder with -DWEIR_HIP_INCLUDE_DIR=…"
  fi
}

# python_options FOLDER: sets `python` to the options that build the Python package. FOLDER is a virtual environment with
# nanobind, which few distributions have; it is created if necessary. Without nanobind, `python` is empty.
python_options() {
  python=()
  if [ ! -x "$1/bin/python" ]; then
    python3 -m venv --system-site-packages "$1" >/dev/null 2>&1 || { echo "python3-venv is not here: going on without the Python package"; return 0; }
  fi
  if "$1/bin/pip" --quiet --disable-pip-version-check install "nanobind>=2.4,<4" mypy numpy pytest >/dev/null 2>&1; then
    # shellcheck disable=SC2034  # the caller uses it
    python=(-DWEIR_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$(realpath "$1")/bin/python")
  else
    echo "nanobind cannot be installed: going on without the Python package"
  fi
}
