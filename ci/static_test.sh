#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the static library, and the shared library with built-in backends. They are built in build/ci-static and
# build/ci-built-in, installed, and used by a program without plugins.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/common.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset WEIR_PLUGIN_PATH WEIR_BACKEND LD_LIBRARY_PATH

fail() {
  printf 'static: %s\n' "$1" >&2
  exit 1
}

quietly() {
  "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "$* failed"; }
}

if cmake -S . -B "$folder/nosuch" -DWEIR_BUILT_IN=nosuch >"$folder/log" 2>&1; then fail "a backend that there is not is built in"; fi
grep -q "no backend 'nosuch'" "$folder/log" || { cat "$folder/log"; fail "the error does not name the backend that there is not"; }

for kind in static built-in; do
  options=(-DBUILD_SHARED_LIBS=OFF) each_header=ON
  # The static library contains all backends. The shared library contains only the host backend, to test the mixture.
  [ $kind = static ] || options=(-DWEIR_BUILT_IN=host -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HIP=OFF) each_header=OFF
  quietly configure "build/ci-$kind" "${options[@]}" -DCMAKE_BUILD_TYPE=None -DWEIR_WERROR=ON -DWEIR_LTO=OFF \
    -DCMAKE_UNITY_BUILD=ON -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_BENCH=OFF
  quietly cmake --build "build/ci-$kind"
  quietly cmake --install "build/ci-$kind" --prefix "$folder/$kind"
  # Tools and libraries of collectives remain plugins of a shared library, and so does Clang's plugin for kernels.
  if find "$folder/$kind" -regex '.*/libweir_\(host\|cuda\|hip\)\.so' | grep .; then fail "$kind: a backend is installed as a plugin"; fi
  if [ $kind = static ] && find "$folder/$kind" -name '*.so*' ! -name 'weir_workgroup-*.so' | grep .; then fail "a shared library is installed"; fi

  quietly configure "$folder/$kind-program" -S tests/packaging/consumer "-DCMAKE_PREFIX_PATH=$folder/$kind" \
    -DCMAKE_BUILD_TYPE=None -DWEIR_COMPONENTS=host "-DWEIR_EACH_HEADER=$each_header"
  quietly cmake --build "$folder/$kind-program"
  [ "$("$folder/$kind-program/consumer")" = "" ] || fail "$kind: the program used a plugin"
  quietly "$folder/$kind/bin/weir" info
  printf '%s: a program works without a plugin\n' "$kind"

  if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$folder/$kind" -name weir.pc)") pkg-config --cflags --libs weir)
    # shellcheck disable=SC2086  # the flags are several words
    quietly "${CXX:-c++}" -std=c++20 tests/packaging/consumer/least.cpp $flags \
      -Wl,-rpath,"$(dirname "$(find "$folder/$kind" -name 'libweir.*' | head -n 1)")" -o "$folder/by_pkg_config"
    quietly "$folder/by_pkg_config"
    printf '%s: so does one that pkg-config links\n' "$kind"
    flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$folder/$kind" -name weir_c.pc)") pkg-config --cflags --libs weir_c)
    # shellcheck disable=SC2086
    quietly "${CC:-cc}" -std=c11 tests/packaging/c_consumer/main.c $flags \
      -Wl,-rpath,"$(dirname "$(find "$folder/$kind" -name 'libweir_c.*' | head -n 1)")" -o "$folder/c_by_pkg_config"
    quietly "$folder/c_by_pkg_config"
    printf '%s: and one in C\n' "$kind"
  fi
done
if WEIR_BACKEND=nosuch "$folder/static/bin/weir" info >"$folder/log" 2>&1; then fail "an unknown backend is taken"; fi
grep -q 'static library' "$folder/log" || { cat "$folder/log"; fail "the error does not say that the library is static"; }
echo passed
