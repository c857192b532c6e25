#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016  # names of files in backquotes are no commands
# Tests that ci/rooms.py passes on this tree, and that it fails on a copy in which an include violates the table or the page
# names a missing file.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python3 "$root/ci/rooms.py"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git -C "$root" ls-files -z --cached --others --exclude-standard |
  (cd "$root" && while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done | xargs -0 cp --parents -t "$copy")
git -C "$copy" init --quiet
python3 "$root/ci/rooms.py" "$copy"

fails_with() {  # LINE
  if output=$(python3 "$root/ci/rooms.py" "$copy"); then
    echo "not noticed: $1"
    exit 1
  fi
  [ "$output" = "$1" ] || { printf 'expected: %s\ngot: %s\n' "$1" "$output"; exit 1; }
}
echo '#include "core/runtime/tools.hpp"' >>"$copy/core/base/free_list.hpp"
fails_with 'core/base/free_list.hpp -> core/runtime/tools.hpp: core/base may not include core/runtime'
cp "$root/core/base/free_list.hpp" "$copy/core/base/free_list.hpp"
echo 'See `core/base/spinning.hpp`.' >>"$copy/docs/internals.md"
fails_with 'docs/internals.md names `core/base/spinning.hpp`, which is not in the sources'
