#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nulls.sh COMPILER INCLUDE: prints test_nulls, which calls each function of the C interface's headers in INCLUDE with 0 for every
# argument: those with a result refuse a null pointer, and getters return 0.
set -euo pipefail
echo '#include "tests/c/check.h"'
echo 'void test_nulls(void) {'
echo '#include "weir/c.h"' | "$1" -std=c11 -E -P "-I$2" -x c - | tr '\n' ' ' | tr ';' '\n' |
  sed -n 's/^ *__attribute__((visibility("default"))) //p' | sed -E 's/\(\*[a-z_]+\)\([^)]*\)/function*/g' |
  while IFS='()' read -r declaration parameters; do
    call="${declaration##*[ *]}($(sed -E 's/[^,]+/0/g' <<<"$parameters"))"
    case $declaration,${parameters%%,*} in
      weir_result\ *) echo "  FAILS(WEIR_ERROR_INVALID_ARGUMENT, \" is null\", $call);" ;;
      void\ *) echo "  $call;" ;;
      *,*\**) echo "  CHECK(!$call);" ;;
    esac
  done
echo '}'
