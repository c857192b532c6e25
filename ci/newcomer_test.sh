#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# newcomer_test.sh: what a newcomer does by the README alone, each step timed: the demonstration; Weir built and installed; a
# program of their own with find_package; the same with FetchContent. As root on a system that can be thrown away, with nothing
# but a clone:
#   ci/clean_root.sh /tmp/bookworm ci/newcomer_test.sh
#   SUITE=noble ci/clean_root.sh /tmp/noble ci/newcomer_test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# block LANGUAGE NUMBER: the block of code of that number in the README, of those in that language.
block() { awk -v begin="^\`\`\`$1\$" -v number="$2" '!inside && $0 ~ begin { inside = 1; count++; next } inside && /^```$/ { inside = 0 } inside && count == number' README.md; }
# commands NUMBER: the lines of a console's block that a user types.
commands() { block console "$1" | sed -n 's/^\$ //p'; }

step() {  # NAME COMMAND…
  local name=$1 begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@"
  printf -- '-- %s: %d s\n' "$name" $((SECONDS - begin))
}
step "demonstration" bash -euo pipefail -c "$(commands 1 | head -n 1)"
step "build and install" bash -euo pipefail -c "$(commands 2)"
mkdir "$folder/found" "$folder/fetched"
for way in found fetched; do block cpp 1 >"$folder/$way/main.cpp"; done
block cmake 1 >"$folder/found/CMakeLists.txt"
# The four lines stand behind the program. The address in the README stands for this clone.
{
  block cmake 1 | sed '/^find_package/d; /^target_link_libraries/d'
  block cmake 2 | sed "s|GIT_REPOSITORY [^ )]*|GIT_REPOSITORY $source|; s|GIT_TAG [^ )]*|GIT_TAG HEAD|"
} >"$folder/fetched/CMakeLists.txt"
own_program() {
  bash -euo pipefail -c "$commands" | tee "$folder/output"
  grep -q '^right on ' "$folder/output"
}
command -v git >/dev/null || apt-get install -qq -y --no-install-recommends git >/dev/null  # who has a clone has git
commands=$(commands 3)
cd "$folder/found"
step "own program, find_package" own_program
cd "$folder/fetched"
rm -rf ~/weir  # it is not to be found by accident
step "own program, FetchContent" own_program
echo passed
