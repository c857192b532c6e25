#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that the demonstration reports a driver whose backend is not built, and reports nothing else. Also tests that scripts
# refuse invalid arguments before they install or build anything.
set -euo pipefail
# shellcheck source=ci/common.sh
source "$(dirname "$0")/common.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
without="$folder/without" with="$folder/with"
printf -- '-- CUDA backend: not built; no headers\n-- HIP backend: not built; no headers\n' >"$without"
printf -- '-- CUDA backend: headers of CUDA 13000\n-- HIP backend: headers of HIP 5.2\n' >"$with"
mkdir -p "$folder/nvidia/proc/driver/nvidia" "$folder/amd/dev" "$folder/none"
touch "$folder/nvidia/proc/driver/nvidia/version" "$folder/amd/dev/kfd"

expect() {  # LOG ROOT WORDS: expects one line with the words, or no output
  local said
  said=$(say_remedies "$1" "$2")
  if { [ -n "$3" ] && [ "$(grep -c . <<<"$said")" = 1 ] && [[ $said == *"$3"* ]]; } || [ -z "$3$said" ]; then return; fi
  printf 'with %s and %s it was to say "%s", and said: %s\n' "$(basename "$1")" "$(basename "$2")" "$3" "$said"
  exit 1
}
expect "$without" "$folder/nvidia" 'install CUDA Toolkit 12'
expect "$without" "$folder/amd" 'install HIP 5.2'
expect "$without" "$folder/none" ''
expect "$with" "$folder/nvidia" ''
expect "$with" "$folder/amd" ''
# The script searches for these lines, so the build must print them in this form.
for vendor in cuda hip; do
  grep -q "STATUS \"${vendor^^} backend: not built" "$(dirname "$0")/../backends/$vendor/CMakeLists.txt"
done
grep -q '^say_remedies build/demo.log$' "$(dirname "$0")/demo.sh"

refuses() {  # SCRIPT WORDS ARGUMENT…: must fail with the words before it installs or builds anything
  local script words=$2 said status=0
  script=$(dirname "$0")/$1
  shift 2
  said=$(PATH=$folder/no_tools "$BASH" "$script" "$@" 2>&1) || status=$?
  if [ "$status" = 2 ] && [[ $said == *"$words"* ]]; then return; fi
  printf '%s %s was to say "%s" and to end with 2; it ended with %s and said: %s\n' "$script" "$*" "$words" "$status" "$said"
  exit 1
}
mkdir "$folder/no_tools"
for tool in dirname sed; do ln -s "$(command -v "$tool")" "$folder/no_tools/$tool"; done
touch "$folder/empty"
refuses demo.sh 'demo.sh [FILE]' --help
refuses demo.sh 'demo.sh [FILE]' one two
refuses demo.sh '/nonexistent is no file' /nonexistent
refuses demo.sh 'empty is no file' "$folder/empty"
refuses demo.sh 'is no file' "$folder"
refuses test.sh 'unknown option --require=nosuch' --require=nosuch
refuses test.sh '--require is for the stage release' --stage=lint --require=cuda
refuses test.sh 'there is no stage nosuch' --stage=nosuch
refuses vendor_test.sh 'vendor_test.sh BACKEND [MACHINE]'
echo passed
