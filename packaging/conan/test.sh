#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the Conan package, shared and static, and builds and runs a program with each: test.sh [OPTION of conan create]…
# Conan's home is build/ci-conan.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v conan >/dev/null || { echo "conan: Conan is not in PATH: pip install 'conan>=2,<3', in a virtual environment" >&2; exit 1; }
export CONAN_HOME=$PWD/build/ci-conan
mkdir -p "$CONAN_HOME"
conan profile detect --force >/dev/null
for shared in True False; do
  conan create packaging/conan -o "weir/*:shared=$shared" -s compiler.cppstd=20 --build=missing \
    -c "tools.cmake.cmake_layout:test_folder=$CONAN_HOME/test" "$@"
done
echo passed
