#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the last commit of this checkout with Spack 1.0 or later from PATH, then builds and runs a program with it:
# test.sh [VARIANT]… Dependencies are Debian's or Ubuntu's packages, those of ci/install-deps.sh --build. Everything that Spack installs goes to build/ci-spack.
set -euo pipefail
cd "$(dirname "$0")/../.."
source ci/common.sh
command -v spack >/dev/null ||
  { echo "spack: there is no spack in PATH; clone https://github.com/spack/spack and add its folder bin" >&2; exit 1; }
home=$PWD/build/ci-spack
rm -rf "$home"
mkdir -p "$home/config"
# The recipe builds the branch main of the checkout that contains it.
git clone -q . "$home/weir"
git -C "$home/weir" checkout -q -B main

external() {  # PACKAGE OF-DEBIAN
  local version
  version=$(dpkg-query -W -f '${Version}' "$2") || { echo "spack: install $2, as ci/install-deps.sh --build does" >&2; exit 1; }
  version=${version#*:}
  printf '  %s:\n    buildable: false\n    externals: [{spec: "%s@%s", prefix: /usr}]\n' "$1" "$1" "${version%%[-+]*}"
}
{
  echo 'packages:'
  external cmake cmake
  external ninja ninja-build
  external fmt libfmt-dev
  external asio libasio-dev
  external intel-tbb libtbb-dev
  external xxhash libxxhash-dev
  external nlohmann-json nlohmann-json3-dev
  external cli11 libcli11-dev
} >"$home/config/packages.yaml"
printf 'repos:\n  weir: %s\n' "$home/weir/packaging/spack/spack_repo/weir" >"$home/config/repos.yaml"
printf 'config:\n  install_tree:\n    root: %s\n  build_stage: [%s]\n' "$home/installed" "$home/stage" >"$home/config/config.yaml"

in_spack() { spack --config-scope "$home/config" "$@" </dev/null; }
in_spack install "weir$*"
prefix=$(in_spack location --install-dir weir)
configure "$home/consumer" -S tests/packaging/consumer "-DCMAKE_PREFIX_PATH=$prefix" -DCMAKE_BUILD_TYPE=None -DWEIR_COMPONENTS=host >/dev/null
cmake --build "$home/consumer" >/dev/null
"$home/consumer/consumer"
in_spack uninstall --yes-to-all weir
[ ! -e "$prefix" ] || { echo "spack: $prefix is left" >&2; exit 1; }
echo passed
