#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abi_test.sh COMPILER INCLUDE LIBRARY: checks that the library exports exactly the functions that the C interface's headers
# in INCLUDE declare, and that no function of the last release (the newest tag v*) is missing or changed. Functions,
# enumerators, and fields at the end of structures may be added. A deliberate break needs a line in CHANGELOG.md and another
# WEIR_C_SOVERSION in CMakeLists.txt.
set -euo pipefail
compiler=$1 include=$2 library=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A library in C with the same functions: its debug information has the types of the headers, and none of C++.
without='^$'
declarations() {  # FOLDER_OF_HEADERS
  echo '#include "weir/c.h"' | "$compiler" -std=c11 -E -P "-I$1" -x c - | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/^ *__attribute__((visibility("default"))) //p' | grep -v "$without"
}
stand_in() {  # FOLDER_OF_HEADERS OUTPUT
  { echo '#include "weir/c.h"'; declarations "$1" | sed 's/$/ { __builtin_trap(); }/'; } |
    "$compiler" -std=c11 -g -w -shared -fPIC "-I$1" -x c - -o "$2"
}
stand_in "$include" "$scratch/now.so"
exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort; }
diff <(exports "$scratch/now.so") <(exports "$library") || { echo "the library and the headers differ"; exit 1; }
echo "the library exports the $(exports "$library" | wc -l) functions of the headers"

command -v abidiff >/dev/null || { echo "abidiff is not here: install abigail-tools"; exit 77; }
# Before the first release only the judge itself is tested: below, against the headers as they are.
before=$include
if release=$(git -C "$include" describe --tags --match 'v*' --abbrev=0 2>/dev/null); then
  mkdir "$scratch/release"
  git -C "$include/.." archive "$release" include | tar -x -C "$scratch/release"
  before=$scratch/release/include
fi
stand_in "$before" "$scratch/before.so"
# abidiff reports a structure that grows as it reports other changes. So each line of its report must be one of those that it has
# for that; what has moved or has another type has other lines.
grown=(
  '^Functions changes summary: 0 Removed,' '^Variables changes summary: 0 Removed, 0 Changed,' '^$'
  '^[0-9]+ functions? with some indirect sub-type change' "^\[C\] 'function .* has some indirect sub-type changes:$"
  "^parameter [0-9]+ of type '.*' has sub-type changes:$" "^in (pointed to|unqualified underlying) type '.*':?"
  "^underlying type 'struct weir_[a-z_]+' changed:$"
  '^type size changed from [0-9]+ to [0-9]+ \(in bits\)$' '^[0-9]+ data member insertions?:$' "^'.*', at offset [0-9]+ \(in bits\)"
  ' (was|were|is|are) (already )?reported'
)
compare() {
  local status=0
  abidiff --no-show-locs --no-added-syms "$scratch/before.so" "$1" >"$scratch/report" || status=$?
  [ $status != 0 ] || return 0
  [ $((status & 3)) = 0 ] || return 1  # it could not compare
  ! sed 's/^ *//' "$scratch/report" | grep -vE "$(IFS='|'; echo "${grown[*]}")"
}
compare "$scratch/now.so" || { cat "$scratch/report"; echo "what $release had is gone or changed"; exit 1; }

# What the comparison lets pass, and what not.
cp "$scratch/now.so" "$scratch/before.so"
change() {  # STATUS FILE SED_EXPRESSION
  rm -rf "$scratch/other"
  mkdir "$scratch/other"
  cp -r "$include/weir" "$scratch/other"
  sed -i "$3" "$scratch/other/weir/c/$2"
  if cmp -s "$include/weir/c/$2" "$scratch/other/weir/c/$2"; then echo "there is nothing to change: $3"; exit 1; fi
  stand_in "$scratch/other" "$scratch/other.so"
  local status=0
  compare "$scratch/other.so" >"$scratch/log" || status=1
  [ $status = "$1" ] || { cat "$scratch/log"; echo "judged wrongly: $3"; exit 1; }
}
change 0 stream.h 's/^} weir_stream_options;/  uint64_t more;\n&/'
change 0 base.h 's/^  WEIR_ERROR_UNKNOWN = 999/  WEIR_ERROR_MORE = 42,\n&/'
change 1 stream.h 's/^  uint32_t flags; /  uint64_t flags; /'
change 1 module.h 's/^  weir_dim3 grid; /  uint32_t before;\n&/'
change 1 memory.h 's/WEIR_MEMORY_PINNED = 1/WEIR_MEMORY_PINNED = 3/'
without=weir_stream_query
change 1 base.h 's/^#define WEIR_C_REVISION .*/#define WEIR_C_REVISION 99/'
echo "nothing that ${release:-a release} had is gone or changed"
