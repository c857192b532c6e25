#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vendor_test.sh BACKEND [MACHINE]: the tests on a machine with that vendor's GPU (cuda or hip), which must be usable. The output
# of `weir info` goes to build/info-BACKEND.txt and to the terminal, the suite's results to build/conformance-BACKEND.json, and a
# row for docs/tested to build/tested-BACKEND.json. MACHINE names the machine in that row.
set -euo pipefail
if [ $# = 0 ] || [ $# -gt 2 ]; then
  sed -n '3,5s/^# //p' "$0" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
backend=$1
machine=${2-$(uname -n)}

rm -f "build/conformance-$backend.json" "build/tested-$backend.json" "build/info-$backend.txt"  # from an earlier run
status=0
ci/test.sh "--require=$backend" || status=$?
info=build/ci-release/bin/weir
if [ -x "$info" ]; then "$info" info --verbose | tee "build/info-$backend.txt" || true; fi
if [ -e "build/conformance-$backend.json" ]; then
  ci/tested.py row "build/conformance-$backend.json" "$machine" >"build/tested-$backend.json" || status=1
fi
exit "$status"
