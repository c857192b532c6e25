#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests emulated-amd.sh with a fake emulator: the messages if something is missing, and the commands if nothing is missing.
set -euo pipefail
script=$(dirname "$0")/emulated-amd.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset ROCJITSU_CONFIG
export ROCM_PATH=$folder/rocm ROCJITSU=$folder/rocm/bin/rocjitsu  # ignores this machine's own

fail() {
  printf '%s; it said:\n%s\n' "$1" "$said"
  exit 1
}
run() { status=0 && said=$("$script" "$folder/build" 2>&1) || status=$?; }

run
[ "$status" = 77 ] || fail "without anything the status was to be 77, not $status"
for word in 'rocjitsu: not in PATH' 'a GPU to emulate: ' "$folder/rocm/share/rocjitsu"; do
  [[ $said == *"$word"* ]] || fail "it was to say '$word'"
done

# A fake emulator. It records its command line, and lets the program named by CULPRIT fail.
mkdir -p "$folder/rocm/bin" "$folder/rocm/lib" "$folder/rocm/share/rocjitsu/configs"
touch "$folder/rocm/lib/libamdhip64.so.7" "$folder/rocm/share/rocjitsu/configs/gfx942_cdna3_kmd.json"
cat >"$folder/rocm/bin/rocjitsu" <<'EMULATOR'
#!/bin/sh
echo "emulated: $WEIR_BACKEND $*"
case "$*" in *"$CULPRIT"*) exit 1 ;; esac
EMULATOR
chmod +x "$folder/rocm/bin/rocjitsu"

CULPRIT=nothing run
[ "$status" = 0 ] || fail "where all passes the status was to be 0, not $status"
for word in 'bin/weir info --backend=hip' "bin/weir-conformance --require=hip --timeout=60 --json=$folder/build/emulated-amd.json"; do
  [[ $said == *"emulated: hip --config $folder/rocm/share/rocjitsu/configs/gfx942_cdna3_kmd.json -- $folder/build/$word"* ]] ||
    fail "it was to run '$word'"
done

CULPRIT=info run
[ "$status" = 1 ] || fail "where weir info fails the status was to be 1, not $status"
[[ $said == *'bin/weir-conformance'* ]] || fail "the suite was to run after a failure"
echo passed
