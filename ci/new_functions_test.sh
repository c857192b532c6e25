#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests new_functions.sh with headers that agree with docs/porting-tables.md, with headers that have further functions, and with
# headers that lack one.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/hip/hip"
printf '#define HIP_VERSION_MAJOR 99\n#define HIP_VERSION_MINOR 2\n' >"$folder/hip/hip/hip_version.h"
names() {  # names from the page and the backends, including one of each family
  grep -ohE '\b(cu|CU_|hip)[[:alnum:]_*]+' "$here"/../docs/porting-tables.md "$here"/../backends/{cuda,hip}/symbols.hpp | sed 's/\*/Any/; s/.*/&;/'
}
compare() {  # WHAT-IS-LEFT-OUT CUDA-FUNCTIONS HIP-FUNCTIONS
  { printf '#define CUDA_VERSION 99010\n'; names | grep -vx "$1;"; printf '%s\n' "$2"; } >"$folder/cuda.h"
  { names; printf '%s\n' "$3"; } >"$folder/hip/hip/hip_runtime_api.h"
  result=$("$here/new_functions.sh" "$folder" "$folder/hip")
}
fail() {
  printf '%s\n%s\n' "$1" "$result"
  exit 1
}

cuda='CUresult CUDAAPI cuStreamQuery_ptsz(CUstream stream);
CUresult CUDAAPI cuTexRefBrandNew(CUtexref texture);
#if defined(__CUDA_API_VERSION_INTERNAL)
#ifdef ANYTHING
CUresult CUDAAPI cuOld(int);
#endif
CUresult CUDAAPI cuOld_v2(int);
#endif
/* CUresult CUDAAPI cuInAComment(int); */'
compare nothing "$cuda" 'hipError_t hipStreamQuery_spt(hipStream_t stream);' ||
  fail "families, kinds of default streams, old names and comments are nothing new"
if compare cuDriverGetVersion "$cuda CUresult CUDAAPI cuBrandNew(int); extern cudaError_t CUDARTAPI cudaStreamQuery_v2(int);" '
extern "C" hipError_t hipBrandNew(int);'; then fail "new functions are to be told"; fi
for words in 'cuBrandNew of CUDA 99.1 is in no row' 'cudaStreamQuery_v2 of CUDA 99.1 is in no row' \
  'CUDA 99.1 has no cuDriverGetVersion' 'hipBrandNew of HIP 99.2 is in no row' ' 4 errors' \
  '99.1: 4 functions, of which the backend calls 1; 1 are in rows by name, 1 by pattern, 2 in none'; do
  [[ $result == *"$words"* ]] || fail "it is to say '$words'"
done
echo passed
