#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests two nights of trend.sh with a separate remote. The branch must be created and get one line per night, and its page
# must compare the two nights.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
git -C "$here" rev-parse -q --verify HEAD >/dev/null 2>&1 || { echo "this tree is no clone"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  printf '%s\n' "$1"
  exit 1
}
git init -q --bare "$folder/remote"
night() {  # TIME: the time of the benchmark submit in microseconds
  printf '{"benchmarks": [{"run_name": "submit", "run_type": "iteration", "cpu_time": %s, "time_unit": "us"},
    {"run_name": "submit", "run_type": "aggregate", "cpu_time": 99, "time_unit": "us"},
    {"run_name": "broken<1>", "run_type": "iteration", "error_occurred": true, "cpu_time": 0, "time_unit": "ns"}]}' "$1" >"$folder/results"
  "$here/trend.sh" "$folder/results" "$folder/remote"
}
night 2
night 2.5
git clone -q -b trend "$folder/remote" "$folder/clone"
[ "$(wc -l <"$folder/clone/history.jsonl")" = 2 ] || fail "two nights are to be two lines"
page=$(<"$folder/clone/index.html")
for words in '<td>submit<td>2500 ns<td>+25.0 %<td>' 'points="0.0,16.4 480.0,5.5"' '2 nights, '; do
  [[ $page == *"$words"* ]] || fail "the page is to say '$words': $page"
done
[[ $page != *broken* ]] || fail "a benchmark that failed has no time: $page"
if "$here/trend.sh" /dev/null "$folder/remote" 2>/dev/null; then fail "an empty file is no night"; fi
echo passed
