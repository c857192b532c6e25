#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# symbols_test.sh COMPILER [OPTION…]: one file that uses two bundles must refer to the symbols of both.
set -euo pipefail
source=$(dirname "$0")/main.cpp
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for level in -O0 -O2; do
  "$@" -std=c++20 -Wall -Wextra -Werror $level '-DWEIR_KERNELS_TARGET="p.t"' -c "$source" -o "$folder/main.o"
  symbols=$(nm -u "$folder/main.o" | awk '{ print $2 }' | grep '^weir_kernels' | sort)
  expected=$(printf 'weir_kernels.p.t.%s\n' apply apply.end subtract subtract.end)
  [[ $symbols == "$expected" ]] || { echo "$1 $level refers to:"; echo "$symbols"; exit 1; }
done
