#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the hand-written declarations of the HIP and CUDA plugins (prototypes, numbers, offsets in structures) with the
# vendors' headers of several releases. For that, it compiles tests/drivers/*_prototypes.cpp with each release: prototypes.sh
# [FOLDER…]
#
# The headers come from each FOLDER, which contains hip/hip_runtime_api.h or cuda.h; from this system; and from PyPI
# packages, which pip downloads (0.7 GB; none with WEIR_OFFLINE=1). Prints a line for each release. The exit status is 0 if
# all agree.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folders=("$@" /usr/include /opt/rocm/include /usr/local/cuda/include)

# Triton's wheels contain AMD's headers: these three contain HIP 6.1, 6.2 and 7.1.
packages=(triton==3.0.0 triton==3.3.0 triton==3.9.0)
# The oldest release of CUDA 12, and the newest CUDA.
packages+=(nvidia-cuda-runtime-cu12==12.0.107 nvidia-cuda-runtime==13.5.37)
if [ -z "${WEIR_OFFLINE-}" ]; then
  if ! python3 -m pip --version >/dev/null 2>&1; then
    echo "prototypes.sh: pip is not here: install python3-pip, or set WEIR_OFFLINE=1" >&2
    exit 2
  fi
  for package in "${packages[@]}"; do
    mkdir "$work/$package"
    if ! python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version=3.11 --platform=manylinux2014_x86_64 \
      --platform=manylinux_2_28_x86_64 --platform=manylinux1_x86_64 --dest="$work" "$package"; then
      printf 'prototypes.sh: pip does not get %s; without a network, set WEIR_OFFLINE=1\n' "$package" >&2
      exit 2
    fi
    python3 - "$work" "$work/$package" << 'END'
import pathlib, sys, zipfile
for wheel in pathlib.Path(sys.argv[1]).glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sys.argv[2], [name for name in archive.namelist() if "/include/" in name])
    wheel.unlink()
END
    for header in hip/hip_runtime_api.h cuda.h; do
      while read -r found; do folders+=("${found%/"$header"}"); done < <(find "$work/$package" -path "*/$header" | sort)
    done
  done
fi

version_of() {  # MACRO FILE
  sed -n "s/^#define $1 *\([0-9][0-9]*\).*/\1/p" "$2" | head -n 1
}
compared=0 differ=0
compare() {  # WHAT FOLDER UNIT [OPTION…]
  compared=$((compared + 1))
  local headers=()
  [ "$2" = /usr/include ] || headers=(-isystem "$2")  # the compiler searches that folder by itself, after its own headers
  if "${CXX:-c++}" -std=c++20 -fsyntax-only -I. -Iinclude "${headers[@]}" "${@:4}" "tests/drivers/$3" 2> "$work/log"; then
    printf 'agrees   %-10s %s\n' "$1" "${2#"$work"/}"
  else
    differ=$((differ + 1))
    printf 'DIFFERS  %-10s %s\n' "$1" "${2#"$work"/}"
    grep error "$work/log" | head -n 20
  fi
}
for folder in "${folders[@]}"; do
  if [ -f "$folder/hip/hip_version.h" ]; then
    major=$(version_of HIP_VERSION_MAJOR "$folder/hip/hip_version.h")
    compare "HIP $major.$(version_of HIP_VERSION_MINOR "$folder/hip/hip_version.h")" "$folder" hip_prototypes.cpp -D__HIP_PLATFORM_AMD__
  fi
  if [ -f "$folder/cuda.h" ]; then
    number=$(version_of CUDA_VERSION "$folder/cuda.h")
    compare "CUDA $((number / 1000)).$((number % 1000 / 10))" "$folder" cuda_prototypes.cpp
  fi
done
printf '%d compared, %d differ\n' "$compared" "$differ"
[ "$compared" != 0 ] && [ "$differ" = 0 ]
