#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers_test.sh CXX CC INCLUDE: the headers compile without a warning in files for the host alone, in old and new C and C++;
# and the use of each missing call and type is an error that names it and the page about it.
set -eu
cxx=$1 cc=$2 include=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

headers='cuda_runtime_api.h builtin_types.h driver_types.h vector_types.h vector_functions.h'
for header in $headers; do echo "#include <$header>"; done >all.c
echo 'int main(void) { return cudaMemcpyHostToDevice - 1; }' >>all.c
{ cat all.c; echo '#include <weir_cuda_templates.h>'; } >all.cpp
for standard in 99 11; do "$cc" -std=c$standard -Wall -Wextra -Wpedantic -Werror -I "$include" -fsyntax-only all.c; done
for standard in 98 11 17 20; do
  "$cxx" -std=c++$standard -Wall -Wextra -Wpedantic -Wno-long-long -Werror -I "$include" -fsyntax-only all.cpp
done

if ! printf '#if !__has_attribute(unavailable)\n#error\n#endif\n' | "$cxx" -x c++ -fsyntax-only - 2>/dev/null; then
  echo "this compiler has another attribute for what is missing"
  exit 77
fi
failures=0
missing() {  # The names for which the table uses a macro.
  printf '#define %s(name, text) @ name @\n#include "weir_cuda_calls.def"\n' "$1" | "$cxx" -x c++ -E -P -I "$include" - |
    tr ' ' '\n' | grep '^cuda'
}
calls=$(missing WEIR_CUDA_MISSING)
types=$(missing WEIR_CUDA_MISSING_TYPE)
{
  echo '#include <cuda_runtime_api.h>'
  for call in $calls; do echo "void use_$call() { $call(); }"; done
  for type in $types; do echo "$type* use_$type;"; done
} >missing.cpp
unlimited=
case $("$cxx" --version) in *clang*) unlimited=-ferror-limit=0 ;; esac
if "$cxx" -std=c++17 -I "$include" -fsyntax-only $unlimited missing.cpp 2>errors.txt; then exit 1; fi
for name in $calls $types; do
  if ! grep -q "error:.* $name is not part of Weir's CUDA runtime: .*docs/cuda-programs.md" errors.txt; then
    echo "the use of $name is no error that names it"
    failures=$((failures + 1))
  fi
done
[ "$(echo "$calls" | wc -l)" -gt 100 ]
[ $failures -eq 0 ]
