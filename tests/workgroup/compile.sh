#!/bin/sh
# compile.sh CLANG PLUGIN SOURCE OBJECT [OPTION]…: compiles kernels to a shared object, like the library.
set -e
clang=$1 plugin=$2 source=$3 object=$4
shift 4
"$clang" -x cuda --cuda-host-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 --cuda-path=/none -Xclang -fcuda-is-device \
  -Xclang -fcuda-allow-variadic-functions -std=c++20 -fdeclspec -O3 -march=native -fno-math-errno \
  -fno-trapping-math -ffp-contract=fast -fveclib=libmvec -fPIC -w -include "$(dirname "$0")/prelude.h" \
  -fpass-plugin="$plugin" -Rpass=weir-workgroup \
  -Rpass-missed=weir-workgroup -c "$source" -o "$object.o" "$@"
"$clang" -shared "$object.o" -o "$object" -lm
rm "$object.o"
