#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci/rooms.py passes on this tree, and fails on a copy in which one include goes against the table.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python3 "$root/ci/rooms.py"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git -C "$root" ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.c' '*.h' ci/rooms.exceptions docs/internals.md |
  (cd "$root" && while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | xargs -0 cp --parents -t "$copy")
git -C "$copy" init --quiet
echo '#include "core/runtime/tools.hpp"' >>"$copy/core/base/free_list.hpp"
if output=$(python3 "$root/ci/rooms.py" "$copy"); then
  echo "an include from core/base to core/runtime was not noticed"
  exit 1
fi
grep -qx 'core/base/free_list.hpp -> core/runtime/tools.hpp: core/base may not include core/runtime' <<<"$output"
