#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the conformance suite with the HIP plugin on the CPU. The bridge implements HIP on CUDA; the suite runs once for each
# HIP release that the bridge can imitate. tests/cpu_cuda replaces CUDA's driver, so no GPU is needed: bridge_on_cpu.sh
# [BUILD-TREE [RELEASE…]]
#
# Also runs it with the bridge as `immediate`, which imitates a HIP implementation that is not AMD's: calls return when their
# work is done, and host functions run on the calling thread.
#
# Prints a line for each run; the exit status is 0 if all passed.
set -euo pipefail
cd "$(dirname "$0")/.."

tree=$(realpath "${1:-build}")
shift || true
releases=("$@")
if [ $# = 0 ]; then releases=(6.2 6.4 7.0 7.1 7.2 7.14 10.0 immediate); fi
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
# The CPU's driver cannot access memory of other processes.
export WEIR_DISABLE_FEATURES=interprocess_memory
export CPU_CUDA_CACHE=$cache LD_LIBRARY_PATH=$tree/lib/cpu_cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

failed=0
for release in "${releases[@]}"; do
  log=$cache/$release.log
  settings=() arguments=()
  folder=$release
  case $release in
    immediate)
      folder=7.2 settings=(WEIR_BRIDGE_IMMEDIATE=1)
      arguments=(--known-failures=tests/bridge/immediate_known_failures.txt)
      ;;
  esac
  runtimes=("$tree/lib/bridge/$folder"/libamdhip64.so.*)
  if env "WEIR_HIP_RUNTIME=${runtimes[0]}" "${settings[@]}" "$tree/bin/weir-conformance" --require=hip --timeout=150 \
    "${arguments[@]}" > "$log" 2>&1; then
    printf '%-9s %s\n' "$release" "$(tail -n 1 "$log")"
  else
    failed=1
    printf '%-9s %s\n' "$release" "$(tail -n 1 "$log")"
    grep -A2 'FAILED: ' "$log" || tail -n 20 "$log"
  fi
done
exit $failed
