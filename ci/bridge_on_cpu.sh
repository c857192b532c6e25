#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the conformance suite with the HIP plugin through the bridge, as each release that the bridge presents, on the CPU: over
# tests/cpu_cuda in place of CUDA's driver. No GPU is needed: bridge_on_cpu.sh [BUILD-TREE [RELEASE…]]
#
# Prints a line for each release; the exit status is 0 if all passed.
set -euo pipefail
cd "$(dirname "$0")/.."

tree=$(realpath "${1:-build}")
shift || true
releases=("$@")
if [ $# = 0 ]; then releases=(5.2 5.3 5.7 6.0 6.2 6.4 7.0 7.1 7.2 7.14 10.0); fi
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export CPU_CUDA_CACHE=$cache LD_LIBRARY_PATH=$tree/lib/cpu_cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

failed=0
for release in "${releases[@]}"; do
  log=$cache/$release.log
  if WEIR_HIP_RUNTIME=$tree/lib/bridge/$release/libamdhip64.so.${release%%.*} \
    "$tree/bin/weir-conformance" --require=hip --timeout=90 --known-failures=tests/cpu_cuda/known_failures.txt > "$log" 2>&1; then
    printf '%-5s %s\n' "$release" "$(tail -n 1 "$log")"
  else
    failed=1
    printf '%-5s %s\n' "$release" "$(tail -n 1 "$log")"
    grep -A2 'FAILED: ' "$log" || tail -n 20 "$log"
  fi
done
exit $failed
