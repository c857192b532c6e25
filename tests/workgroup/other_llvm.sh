#!/bin/sh
# other_llvm.sh CLANG PLUGIN: a plugin for another LLVM release than the compiler's must be refused with a message, without a
# crash.
said=$(echo 'int x;' | "$1" -x c++ -c -fpass-plugin="$2" - -o /dev/null 2>&1) && { echo "it was taken"; exit 1; }
echo "$said"
echo "$said" | grep -q 'Stack dump' && exit 1
echo "$said" | grep -q 'unable to load plugin' && echo "$said" | grep -q 'load weir_workgroup-'
