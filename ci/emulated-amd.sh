#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs Weir on an emulated AMD GPU: AMD's own HIP runtime on rocjitsu, which emulates the kernel driver and the GPU.
# emulated-amd.sh [BUILD_FOLDER]    (default: build/emulated-amd, which it builds)
#
# Uses installed ROCm packages and installs nothing: the package amdrocm-emulation (ROCm 7.15 or later) and the HIP runtime.
#   ROCM_PATH        where ROCm is (default: /opt/rocm)
#   ROCJITSU         the emulator's program (default: rocjitsu in PATH, then ROCM_PATH/bin/rocjitsu)
#   ROCJITSU_CONFIG  the GPU to emulate: a rocjitsu configuration (default: a gfx942 of ROCM_PATH/share/rocjitsu)
#
# Runs `weir info --backend=hip` and the conformance suite, whose report is written to BUILD_FOLDER/emulated-amd.json.
# The example saxpy, a hundred steps over a million elements, would take too long on an emulator.
# Exit status: 0 passed, 1 failed, 77 if something is missing, which the output reports.
set -euo pipefail
cd "$(dirname "$0")/.."

rocm=${ROCM_PATH:-/opt/rocm}
missing=()

emulator=${ROCJITSU:-$(command -v rocjitsu || true)}
if [ -z "$emulator" ] && [ -x "$rocm/bin/rocjitsu" ]; then emulator=$rocm/bin/rocjitsu; fi
if [ -z "$emulator" ] || [ ! -x "$emulator" ]; then
  missing+=("rocjitsu: not in PATH and not ${ROCJITSU:-$rocm/bin/rocjitsu}; install ROCm's package amdrocm-emulation, or set ROCJITSU")
fi

config=${ROCJITSU_CONFIG-}
if [ -z "$config" ] && [ -d "$rocm/share/rocjitsu" ]; then
  # Configurations with "kmd" in their names also emulate the kernel driver. The suite uses one GPU.
  config=$(find "$rocm/share/rocjitsu" -name 'gfx942*kmd.json' | sort | head -n 1)
fi
if [ -z "$config" ] || [ ! -r "$config" ]; then
  missing+=("a GPU to emulate: ${ROCJITSU_CONFIG:-$rocm/share/rocjitsu/…/gfx942*kmd.json} is not there; set ROCJITSU_CONFIG")
fi

runtime=$(find "$rocm/lib" -maxdepth 1 -name 'libamdhip64.so.*' 2>/dev/null | head -n 1 || true)
if [ -z "$runtime" ] && [[ $(ldconfig -p 2>/dev/null || true) != *libamdhip64.so* ]]; then
  missing+=("AMD's HIP runtime: no libamdhip64.so in $rocm/lib or on the loader's path; install ROCm's package hip-runtime-amd")
fi

if [ ${#missing[@]} != 0 ]; then
  printf 'emulated-amd.sh: missing: %s\n' "${missing[@]}"
  exit 77
fi

build=${1-}
if [ -z "$build" ]; then
  source ci/common.sh
  build=build/emulated-amd
  configure "$build" -DCMAKE_BUILD_TYPE=Release
  cmake --build "$build" --target weir_command weir_hip weir-conformance
fi

# The emulator of July 2026 has two limits: copies of rows by its copy engines never end, and it cannot map the kind of
# memory that the pools of 7.15 use.
export HSA_ENABLE_SDMA=${HSA_ENABLE_SDMA-0} DEBUG_HIP_MEM_POOL_VMHEAP=${DEBUG_HIP_MEM_POOL_VMHEAP-0} WEIR_BACKEND=hip
if [ -n "$runtime" ]; then export LD_LIBRARY_PATH=$rocm/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; fi

failed=0
emulate() {  # COMMAND…
  printf '\n== %s\n' "$*"
  if ! "$emulator" --config "$config" -- "$@"; then
    printf 'FAILED: %s\n' "$*"
    failed=1
  fi
}
emulate "$build/bin/weir" info --backend=hip
emulate "$build/bin/weir-conformance" --require=hip --timeout=60 "--json=$build/emulated-amd.json"
exit "$failed"
