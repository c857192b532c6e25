#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests install-deps.sh with fake package managers and without a Clang for the work-group pass. The other probes see this
# machine's packages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/ci" "$folder/bin"
cp "$(dirname "$0")"/{common,install-deps}.sh "$folder/ci"
# LLVM releases that do not exist.
sed -i 's/^pass_majors=.*/pass_majors=(97 98 99)/' "$folder/ci/common.sh"
cat >"$folder/bin/apt-get" <<'END'
#!/bin/sh
case "$*" in *install*clang*) echo "apt-get $*" >>"$APT_LOG"; exit "$APT_STATUS" ;; esac
END
cat >"$folder/bin/apt-cache" <<'END'
#!/bin/sh
case " $APT_HAS " in *" $2 "*) echo "Package: $2" ;; esac
END
printf '#!/bin/sh\nexec "$@"\n' >"$folder/bin/sudo"
chmod +x "$folder"/bin/*
export PATH=$folder/bin:$PATH APT_LOG=$folder/log APT_STATUS APT_HAS

expect() {  # HAS STATUS INSTALLED WORDS: apt's packages and exit status; the expected packages and message
  local said
  APT_HAS=$1 APT_STATUS=$2
  : >"$APT_LOG"
  said=$("$folder/ci/install-deps.sh" 2>&1) || { printf 'with "%s" it fails: %s\n' "$1" "$said"; exit 1; }
  if [[ $said == *"$4"* ]] && [ "$(sed 's/.* --no-install-recommends //' "$APT_LOG")" = "$3" ]; then return; fi
  printf 'with "%s" it was to install "%s" and to say "%s"; it installed "%s" and said: %s\n' "$1" "$3" "$4" "$(cat "$APT_LOG")" "$said"
  exit 1
}
expect "" 0 "" "kernels are compiled by g++ then, and those with barriers run on fibers"
expect "clang-98 llvm-98-dev clang-99 llvm-99-dev" 0 "clang-98 llvm-98-dev" "installing clang-98 llvm-98-dev"
expect "clang-97 clang-99 llvm-99-dev" 0 "clang-99 llvm-99-dev" "installing clang-99 llvm-99-dev"
expect "clang-97 llvm-97-dev" 100 "clang-97 llvm-97-dev" "installing clang-97 llvm-97-dev failed"
expect "clang-97 llvm-97-dev" 100 "clang-97 llvm-97-dev" "run on fibers"
echo passed
