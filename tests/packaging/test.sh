#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh SOURCE BUILD COMPILER: what others do with Weir. Installs BUILD, moves the installed tree elsewhere, and builds and
# runs a program against it; builds and runs the same program with SOURCE as a part of its own project. In both, the program
# must find the host plugin without any variable being set.
set -euo pipefail

source=$1 build=$2 compiler=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset WEIR_PLUGIN_PATH WEIR_BACKEND LD_LIBRARY_PATH
consumer=$(dirname "$(realpath "$0")")/consumer

fail() {
  printf 'packaging: %s\n' "$1" >&2
  exit 1
}

# quietly NAME COMMAND…: shows the output only if the command fails.
quietly() {
  local name=$1
  shift
  "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "$name failed"; }
}

# runs PROGRAM FOLDER: the program works, with a host plugin from that folder.
runs() {
  local plugin
  plugin=$("$1") || fail "$1 failed"
  [[ $plugin == "$2"/*libweir_host.so ]] || fail "$1 used the plugin $plugin, not one in $2"
  printf 'ran with %s\n' "${plugin#"$folder"/}"
}

quietly "installing" cmake --install "$build" --prefix "$folder/first"
mv "$folder/first" "$folder/moved"
for program in "$folder"/moved/bin/*; do
  [ -e "$program" ] || continue  # a build without tools and tests has none
  quietly "$program --help" "$program" --help
done
if [ -x "$folder/moved/bin/weir" ]; then quietly "weir info" "$folder/moved/bin/weir" info; fi

quietly "configuring with find_package" cmake -G Ninja -S "$consumer" -B "$folder/found" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$folder/moved"
quietly "building with find_package" cmake --build "$folder/found"
runs "$folder/found/consumer" "$folder/moved"

quietly "configuring with add_subdirectory" cmake -G Ninja -S "$consumer" -B "$folder/added" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER="$compiler" -DWEIR_SOURCE="$source" -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HIP=OFF
if grep -Eq 'WEIR_(BUILD_TESTS|BUILD_TOOLS|BUILD_EXAMPLES|BUILD_BENCH|INSTALL):BOOL=ON' "$folder/added/CMakeCache.txt"; then
  fail "as a part of another project, Weir builds more than the library and its plugins"
fi
quietly "building with add_subdirectory" cmake --build "$folder/added"
runs "$folder/added/consumer" "$folder/added"
