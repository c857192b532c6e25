#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the pages of the reference, in build/ci-docs/docs/html.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/common.sh
ci/install-deps.sh
command -v doxygen >/dev/null || { echo "docs: doxygen is not here"; exit 77; }
configure build/ci-docs -DCMAKE_BUILD_TYPE=None -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_EXAMPLES=OFF -DWEIR_BUILD_BENCH=OFF \
  -DWEIR_BUILD_TOOLS=OFF >/dev/null
cmake --build build/ci-docs --target docs
