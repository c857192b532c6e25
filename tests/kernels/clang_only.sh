#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the corpus for a GPU with Clang alone: clang_only.sh WEIR-KERNELS 'BACKEND ARCHITECTURE' FOLDER CLANG… Uses the
# first Clang that supports the architecture. If it refuses a kernel, the reason must be a known one. Checks PTX with ptxas
# and AMD's code with the disassembler, if these are installed.
set -euo pipefail
tool=$1 target=$2 folder=$3
shift 3
architecture=${target#* }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Only the first lane has a value for the shuffle, and a conversion rounds toward zero.
cat >"$work/probe.cu" <<'END'
extern "C" __global__ void k(int* p, float* f, const long long* x) {
  int first;
  if (threadIdx.x == 0) first = atomicAdd(p, 1);
  p[threadIdx.x + 1] = __shfl_sync(__activemask(), first, 0);
#ifndef __HIP_PLATFORM_AMD__
  f[threadIdx.x] = __ll2float_rz(x[threadIdx.x]);
#endif
}
END
clang=
for candidate in "$@"; do
  if "$tool" image --for "$target" --clang "$candidate" --output "$work/image" "$work/probe.cu" >"$work/log" 2>&1; then
    clang=$candidate
    break
  fi
done
if [ -z "$clang" ]; then
  echo "skipped: none of these compiles for $architecture: $*"
  cat "$work/log"
  exit 77
fi
release=$("$clang" -dumpversion)
release=${release%%.*}

if [[ $target == cuda* ]]; then
  for instruction in '@%p1 bra' 'cvt\.rz\.f32\.s64'; do
    if ! grep -aq -- "$instruction" "$work/image"; then
      echo "FAILED: the probe has no $instruction"
      exit 1
    fi
  done
fi

# Nothing for a whole grid to wait; lanes in a mask of 32 bits; mathematics where ROCm's libraries do not know the processor;
# printf on AMD; and specializations of kernels, which Clang does not take beside device code by default.
reasons="functions that Clang lacks for $architecture: (__weir_grid_barrier|printf)|the mask must have 64 bits"
reasons+="|from ROCm's device libraries|from CUDA's libdevice|'device' and 'global' attributes are not compatible"
compiled=0 refused=0 failed=0
for file in "$folder"/*.cu; do
  name=$(basename "$file")
  if ! "$tool" image --for "$target" --clang "$clang" --output "$work/image" "$file" >"$work/log" 2>&1; then
    if grep -qE "$reasons" "$work/log"; then
      refused=$((refused + 1))
      printf '%s is refused: %s\n' "$name" "$(grep -oEm1 "$reasons" "$work/log")"
    else
      failed=$((failed + 1))
      printf 'FAILED: %s\n' "$name"
      head -n 20 "$work/log"
    fi
    continue
  fi
  compiled=$((compiled + 1))
  # The image's file is a bundle; its code begins with a magic number, or with a comment of Clang's.
  case $target in
    cuda*) offset=$(grep -aobm1 '^//' "$work/image" | head -n 1) ;;
    *) offset=$(grep -aobm1 $'\x7fELF' "$work/image" | head -n 1) ;;
  esac
  tail -c "+$((${offset%%:*} + 1))" "$work/image" >"$work/code"
  if [[ $target == cuda* ]] && command -v ptxas >/dev/null; then
    sed -i 's/\x00*$//' "$work/code"
    if ! ptxas "-arch=sm_${architecture#compute_}" -o /dev/null "$work/code"; then failed=$((failed + 1)); fi
  elif [[ $target == hip* ]] && command -v "llvm-objdump-$release" >/dev/null; then
    if ! "llvm-objdump-$release" -d "$work/code" | grep s_endpgm >/dev/null; then failed=$((failed + 1)); fi
  fi
done
printf '%s by Clang %s: %d compiled, %d refused, %d failed\n' "$architecture" "$release" "$compiled" "$refused" "$failed"
[ "$failed" = 0 ] && [ "$compiled" -ge 12 ]
