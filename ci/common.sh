# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of this folder share; to be sourced.

cmake_needed=3.25

# Tools that the distribution has only in an older version.
tools=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/weir/tools
PATH=$tools/bin:$PATH

cmake_is_new_enough() {
  local version
  version=$(cmake --version 2>/dev/null | sed -n '1s/.*version //p')
  [ "$(printf '%s\n' "$cmake_needed" "$version" | sort -V | head -n 1)" = "$cmake_needed" ]
}

# What ccache asks for before it takes part where a header is precompiled.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS-pch_defines,time_macros}

# configure BUILD_FOLDER OPTION…: with Ninja, and with ccache where it is installed.
configure() {
  local folder=$1
  shift
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake -G Ninja -B "$folder" "${launcher[@]}" "$@"
}
