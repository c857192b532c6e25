#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks everything that is not compiled: formats, shell scripts, workflows, generated tables. If a tool is missing, its
# check is skipped with a message; with --strict, that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8 PYTHONPYCACHEPREFIX="${TMPDIR:-/tmp}"  # line widths are counted in characters
strict=false
[ "${1-}" != --strict ] || strict=true

failed=0 left_out=0
look() {  # TOOL COMMAND…
  local tool=$1
  shift
  if ! command -v "$tool" >/dev/null; then
    printf '%s is not here: left out\n' "$tool"
    left_out=$((left_out + 1))
  elif "$@"; then
    printf '%s: good\n' "$*" | cut -c -100
  else
    failed=$((failed + 1))
  fi
}
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
mapfile -t sources < <(git ls-files '*.cpp' '*.hpp' '*.c' '*.h')
look shellcheck shellcheck -x "${scripts[@]}"
look actionlint actionlint
look python3 ci/tested.py --check
look python3 ci/rooms.py
look python3 python3 -m py_compile ci/mutations.py ci/rooms.py ci/tested.py ci/trend.py ci/wrap.py packaging/conan/conanfile.py packaging/spack/spack_repo/weir/packages/weir/package.py
if grep -nE '^.{126,}' "${sources[@]}"; then
  printf 'lines are longer than 125 characters; ci/wrap.py wraps them\n'
  failed=$((failed + 1))
fi
if git grep -nE '[[:space:]]+$' -- '*.cpp' '*.hpp' '*.c' '*.h' '*.sh' '*.txt' '*.cmake' '*.yml'; then
  printf 'there are spaces at line ends\n'
  failed=$((failed + 1))
fi
# A subject is "room: Verb object", in the imperative, with at most 72 characters. Older commits have other forms.
since=5c121e58
if git merge-base --is-ancestor "$since" HEAD 2>/dev/null; then
  while read -r commit subject; do
    if [ ${#subject} -gt 72 ] || ! [[ $subject =~ ^[a-z0-9/+_,.\ -]+:\ [A-Z] ]]; then
      printf "%s: the subject is not 'room: Verb object' in at most 72 characters: %s\n" "$commit" "$subject"
      failed=$((failed + 1))
    fi
  done < <(git log --no-merges --format='%h %s' "$since..HEAD")
fi
if $strict; then failed=$((failed + left_out)); fi
[ "$failed" = 0 ]
