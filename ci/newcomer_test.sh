#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# newcomer_test.sh [TEST…]: follows the README like a newcomer, and times each step. The steps: the demonstration; building
# and installing Weir; a program with find_package, with pkg-config, with kernels in a .cu file and with FetchContent; `weir
# new`. Each TEST is a command that runs after the demonstration, such as ci/test.sh, the README's second command. Run it as
# root on a throw-away system that contains only a clone:
#   ci/clean_root.sh /tmp/bookworm ci/newcomer_test.sh
#   SUITE=noble ci/clean_root.sh /tmp/noble ci/newcomer_test.sh ci/test.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# block LANGUAGE NUMBER [PAGE]: prints the NUMBERth code block of that language in PAGE, by default the README.
block() {
  awk -v begin="^\`\`\`$1\$" -v number="$2" '!inside && $0 ~ begin { inside = 1; count++; next }
    inside && /^```$/ { inside = 0 } inside && count == number' "$source/${3-README.md}"
}
# commands NUMBER [PAGE]: prints the lines that a user types, from the NUMBERth console block.
commands() { block console "$@" | sed -n 's/^\$ //p'; }

step() {  # NAME COMMAND…
  local name=$1 begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@"
  printf -- '-- %s: %d s\n' "$name" $((SECONDS - begin))
}
runs() {  # COMMANDS EXPECTED-OUTPUT
  bash -euo pipefail -c "$1" | tee "$folder/output"
  grep -q "$2" "$folder/output"
}

step "demonstration" bash -euo pipefail -c "$(commands 1 | head -n 1)"
for test in "$@"; do step "$test" bash -euo pipefail -c "$test"; done
step "build and install" bash -euo pipefail -c "$(commands 2)"
step "weir info, weir doctor" bash -euo pipefail -c "$(commands 2 docs/getting-started.md)"

mkdir "$folder"/{found,pkg-config,kernels,fetched}
for way in found pkg-config fetched; do block cpp 1 >"$folder/$way/main.cpp"; done
block cmake 1 docs/getting-started.md >"$folder/found/CMakeLists.txt"
cd "$folder/found"
step "own program, find_package" runs "$(commands 3 docs/getting-started.md)" '^3 squared is 9 on '

# The page installs Weir into /opt/weir, but the README, which this test follows, into ~/weir.
cd "$folder/pkg-config"
command -v pkg-config >/dev/null || apt-get install -qq -y --no-install-recommends pkg-config >/dev/null
by_pkg_config=$(sed -n '/^### pkg-config/,$p' "$source/docs/building.md" | awk '/^```/ { inside++ } inside == 1' |
  sed -n 's/^\$ //p' | sed '/^cmake --install/d; s|/opt/weir|~/weir|g')
step "own program, pkg-config" runs "$by_pkg_config" '^3 squared is 9 on '

cd "$folder/kernels"
step "weir new" runs "$(~/weir/bin/weir new my_program | sed -n 's/^  //p')" '^3 squared is 9 on '
# Replace the program's kernel by another .cu file, with the line from docs/ahead-of-time.md. Images for GPUs are optional,
# because a bare machine may not have their compilers.
cat >my_program/blur.cu <<'END'
template<class T>
__global__ void blur(int n, const T* in, T* out) {
  __shared__ T tile[66];
  const int i = blockIdx.x * 64 + threadIdx.x;
  for (int at = threadIdx.x; at < 66; at += 64) {
    const int from = blockIdx.x * 64 + at - 1;
    tile[at] = from >= 0 && from < n ? in[from] : T(0);
  }
  __syncthreads();
  if (i < n) out[i] = (tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2]) / 3;
}
END
cat >my_program/main.cpp <<'END'
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>
int main() {
  weir::Device& device = weir::default_device();
  const auto blur = device.load(weir_kernels(blur))->kernel<void(int, const double*, double*)>("blur<double>");
  const auto stream = device.create_stream();
  const auto in = device.allocate<double>(1000), out = device.allocate<double>(1000);
  stream->fill(in, 3.0);
  stream->launch(blur, weir::grid_for(1000, 64), 1000, in, out);
  const std::vector<double> result = stream->read(out);
  std::printf("blurred: %g %g %g\n", result[0], result[500], result[999]);
}
END
sed -i '/weir_add_kernels/d' my_program/CMakeLists.txt
block cmake 1 docs/ahead-of-time.md |
  sed -n 's/^weir_add_kernels(solver\(.*\))$/weir_add_kernels(my_program\1 KERNELS "blur<double>" OPTIONAL)/p' >>my_program/CMakeLists.txt
step "own .cu" runs "cmake --build my_program/build && my_program/build/my_program" '^blurred: 2 3 2$'
~/weir/bin/weir kernels inspect my_program/build/my_program

cd "$folder/fetched"
# The program comes first, then the four lines of the page. This clone replaces the address in them.
{
  block cmake 1 docs/getting-started.md | sed '/^find_package/d; /^target_link_libraries/d'
  block cmake 3 docs/building.md | sed "s|GIT_REPOSITORY [^ )]*|GIT_REPOSITORY $source|; s|GIT_TAG [^ )]*|GIT_TAG HEAD|"
} >CMakeLists.txt
command -v git >/dev/null || apt-get install -qq -y --no-install-recommends git >/dev/null  # the newcomer has used git for the clone
rm -rf ~/weir  # so that it is not found by accident
step "own program, FetchContent" runs "$(commands 3 docs/getting-started.md)" '^3 squared is 9 on '
echo passed
