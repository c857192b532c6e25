#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh installed|added SOURCE BUILD COMPILER VERSION: what others do with Weir. `installed` installs BUILD, moves the installed
# tree elsewhere, and builds and runs a program against it; `added` builds and runs the same program with SOURCE as a part of
# its own project. In both, the program must find the host plugin without any variable being set.
set -euo pipefail

way=$1 source=$2 build=$3 compiler=$4 version=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset WEIR_PLUGIN_PATH WEIR_BACKEND LD_LIBRARY_PATH
consumer=$(dirname "$(realpath "$0")")/consumer
# Without debug information, so that a compiler cache, which minds folders otherwise, makes the next run short.
common=(-G Ninja -S "$consumer" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$compiler")
if command -v ccache >/dev/null; then common+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

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

test_installed() {
  quietly "installing" cmake --install "$build" --prefix "$folder/first"
  mv "$folder/first" "$folder/moved"
  for program in "$folder"/moved/bin/*; do
    [ -e "$program" ] || continue  # a build without tools and tests has none
    quietly "$program --help" "$program" --help
  done
  if [ -x "$folder/moved/bin/weir" ]; then quietly "weir info" "$folder/moved/bin/weir" info; fi

  # The soname has the minor version until 1.0.
  series=${version%.*}
  [[ $series == 0.* ]] || series=${series%.*}
  local library plugin
  library=$(find "$folder/moved" -name libweir.so) plugin=$(find "$folder/moved" -name libweir_host.so)
  [ "$plugin" = "${library%/*}/weir-$series/libweir_host.so" ] || fail "$plugin is not in the folder weir-$series beside the library"
  readelf -d "$library" | grep "soname: \[libweir.so.$series\]" >/dev/null || fail "$library has not the soname libweir.so.$series"

  # Components are plugins; for one that is not installed the reason says which file is missing.
  if cmake "${common[@]}" -B "$folder/component" -DCMAKE_PREFIX_PATH="$folder/moved" -DWEIR_COMPONENTS="host;nosuch" \
    >"$folder/log" 2>&1; then
    fail "find_package finds a component that there is not"
  fi
  grep -q 'libweir_nosuch.so' "$folder/log" || { cat "$folder/log"; fail "find_package does not say why a component is missing"; }

  quietly "configuring with find_package" cmake "${common[@]}" -B "$folder/found" -DCMAKE_PREFIX_PATH="$folder/moved" \
    -DWEIR_COMPONENTS=host
  quietly "building with find_package" cmake --build "$folder/found"
  runs "$folder/found/consumer" "$folder/moved"

  # GCC and Clang follow one C++ ABI: a program of one works with a library of the other. Its flags come from pkg-config, where
  # that is installed.
  flags="-I$folder/moved/include -L${library%/*} -lweir"
  if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH="${library%/*}/pkgconfig" pkg-config --cflags --libs weir) || fail "pkg-config does not find weir"
  fi
  for other in g++ clang++; do
    if [[ $(basename "$compiler") == *"$other"* ]] || ! command -v "$other" >/dev/null; then continue; fi
    # shellcheck disable=SC2086  # the flags are several words
    quietly "compiling with $other" "$other" -std=c++20 "$consumer/consumer.cpp" $flags -Wl,-rpath,"${library%/*}" \
      -o "$folder/found/$other"
    runs "$folder/found/$other" "$folder/moved"
  done

  # A plugin's note outlives what distributions strip.
  quietly "strip" strip --strip-all "$plugin"
  runs "$folder/found/consumer" "$folder/moved"
}

test_added() {
  quietly "configuring with add_subdirectory" cmake "${common[@]}" -B "$folder/added" -DWEIR_SOURCE="$source" \
    -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HIP=OFF
  if grep -Eq 'WEIR_(BUILD_TESTS|BUILD_TOOLS|BUILD_EXAMPLES|BUILD_BENCH|INSTALL):BOOL=ON' "$folder/added/CMakeCache.txt"; then
    fail "as a part of another project, Weir builds more than the library and its plugins"
  fi
  # The program's own target is all that is asked for: the plugins come with the library.
  quietly "building with add_subdirectory" cmake --build "$folder/added" --target consumer
  runs "$folder/added/consumer" "$folder/added"

  # The project exports a library that links Weir, and installs nothing of Weir itself.
  quietly "installing the project" cmake --install "$folder/added" --prefix "$folder/project"
  grep -q 'weir::weir' "$folder"/project/lib/cmake/wrapper/wrapperTargets.cmake || fail "the project's export does not name weir::weir"
  if find "$folder/project" -name '*weir*' | grep . >/dev/null; then fail "the project installs files of Weir"; fi
}

"test_$way"
