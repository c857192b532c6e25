#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# files_test.sh WEIR FOLDER: compiles a CUDA program whose device code lies in several files for the CPU, file by file, and
# links and runs it. Then checks the errors of what is missing. Exits 77, so that ctest skips the test, if this machine has no
# Clang for which there is a work-group pass.
set -u
weir=$1 sources=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
target=host
# The default needs AVX2.
if [ "$(uname -m)" = x86_64 ] && ! grep -q -w avx2 /proc/cpuinfo; then target='host x86-64'; fi

# Two files of one name, as in a program with a folder for each part.
mkdir one two
cp "$sources/files.cu" one/part.cu
cp "$sources/other.cu" two/part.cu
for part in one two; do
  if ! (cd $part && "$weir" c++ --for "$target" -I "$sources" -I "$sources/.." -dc part.cu) >log 2>&1; then
    cat log >&2
    grep -q 'no Clang of version' log && exit 77
    exit 1
  fi
done
"$weir" c++ one/part.o two/part.o -o program || exit 1
WEIR_BACKEND=host ./program || exit 1
# The linker's words may lie in a response file, as CMake writes them.
cp two/part.o 'two/the part.o'
echo 'two/the\ part.o' >rest
printf '"one/part.o"\n@rest -o by_file\n' >objects
"$weir" c++ @objects || exit 1
WEIR_BACKEND=host ./by_file || exit 1

# For NVIDIA, a file that flushes denormal numbers links with one that does not, and each keeps its own instructions.
"$weir" c++ --for 'cuda compute_70' -I "$sources" -I "$sources/.." -dc --use_fast_math one/part.cu -o fast.o || exit 1
"$weir" c++ --for 'cuda compute_70' -I "$sources" -I "$sources/.." -dc two/part.cu -o exact.o || exit 1
for objects in 'fast.o exact.o' 'exact.o fast.o'; do
  # shellcheck disable=SC2086  # two words
  "$weir" c++ $objects -o mixed || exit 1
  for instruction in add.rn.ftz.f32 add.rn.f32; do
    grep -a -q "$instruction" mixed || { echo "no $instruction in the program of $objects" >&2 && exit 1; }
  done
done

# With the toolkit's ptxas, -arch and -gencode make machine code for the GPUs that they name, besides the PTX.
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
if [ -x "$ptxas" ]; then
  gpus='arch=compute_80,code=[sm_80,sm_90,compute_80]'
  "$weir" c++ --for cuda -gencode "$gpus" -fatbin "$sources/../../on_fibers.cu" -o machine.fatbin || exit 1
  for image in 'cuda compute_80' 'cuda sm_80' 'cuda sm_90'; do
    grep -a -q "$image" machine.fatbin || { echo "no $image" >&2 && exit 1; }
  done
  # A kernel that would take 72 registers, with which blocks of 1,024 threads do not run. 64 suffice.
  cat >wide.cu <<'END'
__global__ void wide(float* p, int k) {
  float v[50];
#pragma unroll
  for (int i = 0; i < 50; ++i) v[i] = p[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 50; ++i) p[i * k + threadIdx.x] = v[i] * v[49 - i] + v[i * 7 % 50];
}
END
  "$weir" c++ --for cuda -arch=sm_90 -fatbin wide.cu || exit 1
  grep -a -q '\.maxntid 1024' wide.fatbin || { echo 'the registers of a kernel are not limited' >&2 && exit 1; }
fi

# fails PATTERN WORD...: the command must fail with a message that matches.
fails() {
  pattern=$1
  shift
  if "$@" >log 2>&1 || ! grep -q -e "$pattern" log; then
    echo "no error '$pattern' from: $*" >&2
    cat log >&2
    exit 1
  fi
}
fails 'device code uses .*from_other.*no object of -rdc=true in this command defines' "$weir" c++ one/part.o -o none
ar qc parts.a one/part.o two/part.o
fails 'lies in a library; name its objects' "$weir" c++ parts.a -o none
fails '-dlink: .*name the objects' "$weir" c++ -dlink one/part.o two/part.o -o none
fails 'device code uses .*from_other.*this file does not define.*-rdc=true' \
  "$weir" c++ --for "$target" -I "$sources" -I "$sources/.." -c one/part.cu -o none
