#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# trend.sh RESULTS [REMOTE]: adds a night's results (Google Benchmark's JSON) to the branch `trend` of REMOTE (origin), which contains
# only the history and the page that ci/trend.py draws. Creates the branch if it does not exist.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3,4s/^# //p' "$0"; exit 2; }
results=$(realpath "$1") remote=${2-origin}
cd "$(dirname "$0")/.."
remote=$(git remote get-url "$remote" 2>/dev/null || realpath "$remote")
commit=$(git rev-parse --short HEAD)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git -C "$folder" init -q -b trend
# In a workflow, use the credentials that the checkout step stored, to push to the same server.
if header=$(git config --get-regexp '^http\..*\.extraheader$'); then git -C "$folder" config "${header%% *}" "${header#* }"; fi
if git -C "$folder" fetch -q --depth=1 "$remote" trend 2>/dev/null; then git -C "$folder" reset -q --hard FETCH_HEAD; fi
ci/trend.py "$folder" "$results" "$commit" "$(date -u +%Y-%m-%d)"
git -C "$folder" add history.jsonl index.html
git -C "$folder" -c user.name=nightly -c user.email=nightly@localhost commit -q -m "Benchmarks of $commit"
git -C "$folder" push -q "$remote" trend
