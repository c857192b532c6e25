#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages_install_test.sh FOLDER: installs the Debian packages in FOLDER into this system, which needs root. Builds and runs
# a program with find_package and one with pkg-config. Then removes the packages, and checks that no file is left. Use a
# throw-away system: a container, or ci/clean_root.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath "$1")
export DEBIAN_FRONTEND=noninteractive

fail() {
  printf 'packages: %s\n' "$1" >&2
  exit 1
}

apt-get update -qq
apt-get install -qq -y --no-install-recommends cmake ninja-build g++ pkg-config >/dev/null
names=()
for deb in "$packages"/*.deb; do names+=("$(dpkg-deb -f "$deb" Package)"); done
apt-get install -qq -y --no-install-recommends "$packages"/*.deb >/dev/null
cmake -G Ninja -S tests/packaging/consumer -B /tmp/consumer -DCMAKE_BUILD_TYPE=None -DWEIR_COMPONENTS=host >/dev/null
cmake --build /tmp/consumer >/dev/null
/tmp/consumer/consumer
# shellcheck disable=SC2046  # the flags are several words
c++ -std=c++20 tests/packaging/consumer/least.cpp $(pkg-config --cflags --libs weir) -o /tmp/consumer/by_pkg_config
/tmp/consumer/by_pkg_config
# shellcheck disable=SC2046
cc -std=c11 tests/packaging/c_consumer/main.c $(pkg-config --cflags --libs weir_c) -o /tmp/consumer/c_by_pkg_config
/tmp/consumer/c_by_pkg_config
weir info
# The host package recommends a Clang. If the distribution has it, kernels must use the work-group pass.
for clang in $(dpkg-query -W -f '${Recommends}' libweir0.1-host | tr '|' ' '); do
  if [[ $clang == clang-* ]] && apt-get install -qq -y --no-install-recommends "$clang" >/dev/null; then
    weir doctor | grep 'and the work-group pass'
    break
  fi
done
weir-conformance --require=host --test-suite=memory
weir-bench-scaling "--benchmark_filter=^object/"
apt-get purge -qq -y "${names[@]}" >/dev/null
left=$(find /usr -xdev ! -type d -name '*weir*') || true
[ -z "$left" ] || fail "these files are left: $left"
if /tmp/consumer/consumer >/dev/null 2>&1; then fail "the program runs without the library"; fi
echo "passed: installed, used, removed: ${names[*]}"
