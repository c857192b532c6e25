#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the tools' findings on a GPU: tools_on_gpu.sh [BUILD-TREE [BACKEND [SEEDS]]]
# Measures the tools' cost there in less than a minute: tools_on_gpu.sh --cost [BUILD-TREE [BACKEND [ROUNDS]]]
#
# Runs the race detector's corpus, a program with a missing wait under `shake`, the entropy example with `timeline`, and the
# sweep, which makes each driver call fail once. Build weir_tool_programs, weir_tool_tests, weir_sweep, entropy, weir
# and the tools first. Prints a line for each; the exit status is 0 if all pass.
set -uo pipefail
cost=
if [ "${1:-}" = --cost ]; then cost=1 && shift; fi
tree=$(realpath "${1:-build}") backend=${2:-cuda} seeds=${3:-50}
export WEIR_BACKEND=$backend
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
say() { printf '%-34s %s\n' "$1" "$2"; }

# Runs the entropy example in turns without a tool, with race and with timeline. Prints medians, and each round's ratio to
# the run without a tool. Uses the time that entropy prints, which excludes the start of the process.
if [ -n "$cost" ]; then
  unset WEIR_TOOLS WEIR_RACE WEIR_TIMELINE WEIR_FAULTS
  size=512M
  if [ "$backend" = host ]; then size=128M; fi
  head -c "$size" /dev/urandom > "$folder/input"
  deadline=$((SECONDS + 50)) rounds=0
  while [ "$rounds" -lt "${3:-9}" ] && [ "$SECONDS" -lt "$deadline" ]; do
    for chunk in 1M 64K; do
      for tool in "" race timeline; do
        env ${tool:+"WEIR_TOOLS=$tool"} "WEIR_TIMELINE=$folder/trace" timeout 30 "$tree/bin/entropy" "$folder/input" --no-png --chunk "$chunk" \
          > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
        awk -v key="$chunk ${tool:-none}" '$1 == "time" { print key, $2 * 1000 }' "$folder/log" >> "$folder/times"
      done
    done
    rounds=$((rounds + 1))
  done
  awk -v rounds="$rounds" -v backend="$backend" -v size="$size" '
    function median(list, n, i, j, t) {
      for (i = 2; i <= n; i++) { t = list[i]; for (j = i - 1; j > 0 && list[j] > t; j--) list[j + 1] = list[j]; list[j + 1] = t }
      return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    { n = ++count[$1, $2]; time[$1, $2, n] = $3 }
    function ms(chunk, tool, i, list) { for (i = 1; i <= rounds; i++) list[i] = time[chunk, tool, i]; return median(list, rounds) }
    function ratio(chunk, tool, i, list) {
      for (i = 1; i <= rounds; i++) list[i] = time[chunk, tool, i] / time[chunk, "none", i]
      return median(list, rounds)
    }
    END {
      printf "entropy, %siB, %s, medians of %d rounds by turns\n", size, backend, rounds
      printf "%-12s %10s %10s %8s %10s %8s\n", "pieces of", "none ms", "race ms", "ratio", "timeline", "ratio"
      split("1M 64K", chunks)
      for (c = 1; c <= 2; c++)
        printf "%-12s %10.1f %10.1f %8.2f %10.1f %8.2f\n", chunks[c], ms(chunks[c], "none"), ms(chunks[c], "race"), \
               ratio(chunks[c], "race"), ms(chunks[c], "timeline"), ratio(chunks[c], "timeline")
    }' "$folder/times"
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> "$folder/none" | head -n 1
  exit 0
fi

# race: each program of the corpus must cause the expected number of reports.
all=0 wrong=0 missed=""
while read -r program reports; do
  all=$((all + 1))
  status=0
  WEIR_TOOLS=race WEIR_RACE=json=$folder/race.json timeout 120 "$tree/bin/weir_tool_programs" "$program" > "$folder/log" 2>&1 || status=$?
  found=$(grep -o '"fault"' "$folder/race.json" 2> "$folder/none" | wc -l)
  if [ "$found" != "$reports" ]; then missed+=" $program($found/$reports,$status)"; fi
  if [ "$reports" != 0 ]; then wrong=$((wrong + 1)); fi
  rm -f "$folder/race.json"
done < <("$tree/bin/weir_tool_programs" --list)
say "race: programs, wrong ones" "$all, $wrong; not as they should be:${missed:- none}"
if [ -n "$missed" ]; then failed=1; fi

# shake: counts how often a missing wait changes the result, with the tool and without it.
shake() {
  timeout 600 "$tree/bin/weir" shake "--backend=$backend" "--seeds=$seeds" -- "$tree/bin/weir_tool_programs" "$1" 2>&1 |
    sed -n 's/^weir shake: \([0-9]* of [0-9]*\) schedules.*/\1/p'
}
bare=0
for _ in $(seq "$seeds"); do "$tree/bin/weir_tool_programs" wrong_shows_a_lost_wait > "$folder/log" 2>&1 || bare=$((bare + 1)); done
lost=$(shake wrong_shows_a_lost_wait) right=$(shake right_shows_a_lost_wait)
say "shake: a lost wait shows" "$lost seeds; without the tool $bare of $seeds; where nothing is lost $right"
if [ "${lost%% *}" = 0 ] || [ "${right%% *}" != 0 ]; then failed=1; fi

# timeline: the tests' decoder reads the trace of entropy.
head -c 64M /dev/urandom > "$folder/input"
WEIR_TOOLS=timeline WEIR_TIMELINE=$folder/trace timeout 300 "$tree/bin/entropy" "$folder/input" --no-png --verify > "$folder/log" 2>&1 ||
  { failed=1; tail -n 3 "$folder/log"; }
WEIR_TEST_TRACE=$folder/trace "$tree/bin/weir_tool_tests" '-tc=timeline: a trace that is named' > "$folder/decoded" 2>&1 || failed=1
say "timeline: entropy" "$(grep -E '^tracks|ERROR' "$folder/decoded" | head -n 1)"
grep -E 'busy' "$folder/log"

# The sweep runs in several processes, each with its share of the driver calls.
processes=$(($(nproc) < 8 ? $(nproc) : 8))
for code in 999 2; do
  for i in $(seq "$processes"); do
    timeout 500 "$tree/bin/weir_sweep" "$backend" "--code=$code" "--first=$i" "--stride=$processes" > "$folder/sweep.$i" 2>&1 &
  done
  wait
  cat "$folder"/sweep.* | awk -v code="$code" -v processes="$processes" '
    /^calls failed/ { gsub(",", ""); calls += $3; absorbed += $5; left += $10; leaks += $12; crashes += $14; wrong += $16; ends++ }
    /^error: / { errors[$0] = 1 }
    END { for (e in errors) n++
          printf "%-34s %d calls failed, %d absorbed, %d distinct errors, %d left behind and logged, %d leaks, %d crashes, %d wrong (%d processes)\n",
                 "sweep: code " code, calls, absorbed, n, left, leaks, crashes, wrong, ends
          exit ends != processes || leaks + crashes + wrong > 0 }' || failed=1
  grep -h '^call' "$folder"/sweep.* | head -n 20
done
timeout 500 "$tree/bin/weir_sweep" "$backend" --cold > "$folder/cold" 2>&1 || failed=1
say "sweep: opening the device" "$(tail -n 1 "$folder/cold")"
exit $failed
