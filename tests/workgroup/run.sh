#!/bin/sh
# run.sh CLANG PLUGIN TESTS: compiles the kernels, and runs the tests with the result.
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
WEIR_TEST_FOLDER=$folder
WEIR_TEST_SOURCES=$here/kernels
export WEIR_TEST_FOLDER WEIR_TEST_SOURCES
mkdir "$folder/language"
for source in "$here"/kernels/*.cu "$here"/language/*.cu; do
  object=$folder/$(basename "$source" .cu)
  case $source in */language/*) object=$folder/language/$(basename "$source" .cu) ;; esac
  "$here/compile.sh" "$1" "$2" "$source" "$object.so" > "$object.log" 2>&1 || { cat "$object.log"; exit 1; }
done
"$3"
