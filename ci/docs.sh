#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs.sh [FOLDER]: makes the pages and the reference, both with search. They are written to a subfolder of FOLDER with the
# name of Weir's version, such as build/docs/0.1.0. Subfolders of other versions are kept, and FOLDER/index.html lists all
# versions.
set -euo pipefail
output=$(realpath -m "${1:-$(dirname "$0")/../build/docs}")
cd "$(dirname "$0")/.."
source ci/common.sh
ci/install-deps.sh
command -v doxygen >/dev/null || { echo "docs: doxygen is not here"; exit 77; }
configure build/ci-docs -DCMAKE_BUILD_TYPE=None -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_BENCH=OFF \
  -DWEIR_BUILD_TOOLS=OFF >/dev/null
cmake --build build/ci-docs --target docs

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' build/ci-docs/CMakeCache.txt)
mkdir -p "$output"
rm -rf "${output:?}/$version"
cp -r build/ci-docs/docs/html "$output/$version"
{
  printf '<!DOCTYPE html><meta charset="utf-8"><title>Weir</title><h1>Weir</h1>\n<ul>\n'
  for page in "$output"/*/find.html; do basename "${page%/find.html}"; done | sort -rV |
    sed 's|.*|<li><a href="&/index.html">&</a>, <a href="&/find.html">search</a>|'
  printf '</ul>\n'
} >"$output/index.html"
echo "the pages of $version: $output/$version/index.html"
