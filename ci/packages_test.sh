#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages_test.sh BUILD: makes the Debian packages of a build with -DCMAKE_INSTALL_PREFIX=/usr in BUILD/packages. Checks the
# content and the dependencies of each package. Unpacks all of them into a folder, and builds a program with that folder.
# packages_install_test.sh tests the installation into a system.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
command -v dpkg-deb >/dev/null || { echo "packages: dpkg is not here"; exit 77; }
# Without one of these tools, CPack would make packages without dependencies.
for tool in dpkg-shlibdeps/dpkg-dev file/file; do
  command -v "${tool%/*}" >/dev/null || { echo "packages: ${tool%/*} is not here: install ${tool#*/}" >&2; exit 1; }
done

fail() {
  printf 'packages: %s\n' "$1" >&2
  exit 1
}

packages=$build/packages
rm -rf "$packages"
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$packages" >"$build/packages.log" 2>&1 ||
  { cat "$build/packages.log"; fail "cpack failed"; }
rm -rf "$packages/_CPack_Packages"
root=$packages/root
mkdir "$root"
found=()
for deb in "$packages"/*.deb; do
  name=$(dpkg-deb -f "$deb" Package)
  found+=("$name")
  printf '%s %s: depends on %s\n' "$name" "$(dpkg-deb -f "$deb" Version)" "$(dpkg-deb -f "$deb" Depends)"
  dpkg-deb -x "$deb" "$root"
  dpkg-deb -c "$deb" >"$root/$name.list"
  files=$(grep -c '^-' "$root/$name.list")
  [ "$files" -ge 2 ] || fail "$name has $files files"
  if grep -v ' \./$\| \./usr/' "$root/$name.list"; then fail "$name has files elsewhere than in /usr"; fi
done
for name in libweir0.1 libweir0.1-host libweir-c0 libweir-dev weir-tools; do
  [[ " ${found[*]} " == *" $name "* ]] || fail "there is no package $name; there are ${found[*]}"
done
grep -q 'libweir_tool_race.so$' "$root/weir-tools.list" || fail "weir-tools has no tools"
for file in man1/weir.1 completions/weir site-functions/_weir vendor_completions.d/weir.fish; do
  grep -q "/$file\(\.gz\)\?$" "$root/weir-tools.list" || fail "weir-tools lacks $file"
done
grep -q 'man1/weir-kernels.1' "$root/libweir-dev.list" || fail "libweir-dev has no manual page of weir-kernels"
grep -q '/libweir_cudart.so.0.1$' "$root/libweir0.1.list" || fail "libweir0.1 lacks libweir_cudart"
for file in cuda_runtime.h weir_device_cpu.h; do
  grep -q "/weir/cudart/include/$file\$" "$root/libweir-dev.list" || fail "libweir-dev lacks $file, for CUDA programs"
done
grep -q 'libtbb12' <<<"$(dpkg-deb -f "$packages"/libweir0.1-host_*.deb Depends)" || fail "the host plugin does not depend on libtbb12"
# The work-group pass is in the folder of the host's plugin, and the package recommends the matching Clang.
for pass in "$build"/lib/weir_workgroup-*.so; do
  [ -e "$pass" ] || continue
  pass=${pass##*/}
  grep -q "/weir-0.1/$pass\$" "$root/libweir0.1-host.list" || fail "libweir0.1-host lacks $pass"
  major=${pass//[!0-9]/}
  grep -qw "clang-$major" <<<"$(dpkg-deb -f "$packages"/libweir0.1-host_*.deb Recommends)" ||
    fail "the host plugin does not recommend clang-$major"
  if command -v "clang++-$major" >/dev/null; then
    WEIR_HOST_CXX=$(command -v "clang++-$major") "$root/usr/bin/weir" doctor | grep 'and the work-group pass' ||
      fail "the host plugin does not find $pass"
  fi
done
if dpkg-deb -f "$packages"/libweir0.1_*.deb Depends | grep -q 'tbb\|fmt\|cuda\|hip'; then fail "the library depends on more than the system"; fi

# A program can use the unpacked files, so the packages are complete.
library=$(dirname "$(find "$root/usr/lib" -name libweir.so)")
flags=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --define-prefix --cflags --libs weir 2>/dev/null) ||
  flags="-I$root/usr/include -L$library -lweir"
# shellcheck disable=SC2086  # the flags are several words
"${CXX:-c++}" -std=c++20 tests/packaging/consumer/least.cpp $flags -Wl,-rpath,"$library" -o "$root/consumer"
"$root/consumer"
flags=$(PKG_CONFIG_PATH=$library/pkgconfig pkg-config --define-prefix --cflags --libs weir_c 2>/dev/null) ||
  flags="-I$root/usr/include -L$library -lweir_c"
# shellcheck disable=SC2086
"${CC:-cc}" -std=c11 tests/packaging/c_consumer/main.c $flags -Wl,-rpath,"$library" -o "$root/c_consumer"
"$root/c_consumer"
"$root/usr/bin/weir" info >/dev/null
WEIR_TOOLS=race "$root/consumer" >/dev/null
# `weir c++` finds what it needs in the packages.
target=host
if [ "$(uname -m)" = x86_64 ]; then target='host x86-64'; fi
if "$root/usr/bin/weir" c++ --for "$target" tests/cudart/language/static_kernel.cu -o "$root/cuda_program" 2>"$build/packages.log"; then
  WEIR_BACKEND=host "$root/cuda_program"
elif ! grep -q 'no Clang of version' "$build/packages.log"; then
  cat "$build/packages.log"
  fail "weir c++ of the packages does not compile"
fi
if grep -r rpath "$library/pkgconfig"; then fail "the pkg-config file of a package has an rpath"; fi
echo passed
