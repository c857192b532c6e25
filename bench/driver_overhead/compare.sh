#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares two builds of weir-bench-cuda on one machine, in turns: compare.sh OLD NEW [RUNS]
#
# OLD and NEW are the programs, each with its own libraries, in their build trees. For each operation it prints Weir's
# overhead over the raw call in ns, and the ratio: medians of RUNS runs (4). Machines differ by more than versions do, so
# never compare runs on different machines.
set -euo pipefail
if [ $# -lt 2 ]; then
  printf 'usage: compare.sh OLD NEW [RUNS]\n' >&2
  exit 2
fi
declare -A programs=([old]=$1 [new]=$2)
runs=${3:-4}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for ((i = 0; i < runs; ++i)); do
  for side in old new; do
    # Status 1 means that an operation exceeds its limit, which does not matter here.
    "${programs[$side]}" >"$results/$side.$i" 2>"$results/errors" || [ $? = 1 ] || { cat "$results/errors" >&2; exit 2; }
  done
done
awk '
  function median(list,    n, values, i, j, t) {
    n = split(list, values, " ")
    for (i = 2; i <= n; ++i) for (j = i; j > 1 && values[j - 1] + 0 > values[j] + 0; --j) {
      t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
    }
    return n == 0 ? "-" : n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
  }
  { sub(/ +OVER$/, "") }
  $NF ~ /^[0-9.]+$/ && $(NF - 2) ~ /^[-+][0-9.]+$/ {
    side = FILENAME ~ /old\.[0-9]+$/ ? "old" : "new"
    name = $0
    for (i = 0; i < 5; ++i) sub(/ +[^ ]+$/, "", name)
    if (!(name in seen)) { seen[name] = 1; names[++count] = name }
    raw[name] = raw[name] " " $(NF - 3)
    added[side, name] = added[side, name] " " $(NF - 2) + 0
    ratio[side, name] = ratio[side, name] " " $(NF - 1)
  }
  END {
    printf "%-38s %10s %10s %8s %10s %8s\n", "operation", "raw ns", "old adds", "ratio", "new adds", "ratio"
    for (i = 1; i <= count; ++i) {
      n = names[i]
      printf "%-38s %10.1f %10s %8s %10s %8s\n", n, median(raw[n]), median(added["old", n]), median(ratio["old", n]),
             median(added["new", n]), median(ratio["new", n])
    }
  }' "$results"/old.* "$results"/new.*
