#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# amd_root.sh ROOT BUILD [CHECK…]: compiles kernels for AMD GPUs with AMD's own compilers, without a GPU. If the folder ROOT does
# not exist, it becomes a Debian with AMD's HIP, HIPRTC, hipcc and RCCL from the suite experimental. The programs of the
# build folder BUILD run in it and compile every kernel of this tree's documentation (ci/kernel_sources.py). Checks, all by default:
#
#   hiprtc hipcc clang   that compiler accepts each source for each architecture, or refuses it for a reason given in
#                        docs/kernels-dialect.md
#   table                each row of that page's table is true
#   releases             the releases in the plugin's function table and in docs/porting-tables.md match AMD's headers and libraries
#   runtimes             the output of `weir info` with each runtime
#
# AMD_ARCHITECTURES replaces the default list. Exit status 77: no root, no mmdebstrap, or the packages are not available.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 2 ] || { sed -n '3,14s/^# \?//p' "$0"; exit 2; }
root=$1 build=$2
shift 2
checks=("$@")
if [ $# = 0 ]; then checks=(hiprtc hipcc clang table releases runtimes); fi
read -ra architectures <<<"${AMD_ARCHITECTURES-gfx90a gfx942 gfx1030 gfx1100 gfx1201 gfx1250}"

skip() {
  echo "amd_root.sh: skipped: $*"
  exit 77
}

# Makes the root, which takes 4 minutes and 3 GB. The root has the newest releases of both suites.
make_root() {
  [ "$(id -u)" = 0 ] || skip "a root of Debian is made by root alone"
  command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"
  local mirror=${MIRROR-http://deb.debian.org/debian} list
  list=$(mktemp)
  printf 'deb %s %s main\n' "$mirror" sid "$mirror" experimental >"$list"
  rm -rf "$root.part"
  mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' --include=ca-certificates,g++,libtbb12 sid "$root.part" \
    "$list" >"$root.log" 2>&1 || { tail -n 5 "$root.log"; skip "no root of Debian sid can be made from $mirror"; }
  rm "$list"
  { chroot "$root.part" apt-get update &&
    chroot "$root.part" apt-get install -y -t experimental libamdhip64-7 libhiprtc7 libamd-comgr3 rocm-device-libs-22 librccl1 hipcc &&
    chroot "$root.part" apt-get install -y libamdhip64-6 libhiprtc6; } >>"$root.log" 2>&1 ||
    { tail -n 5 "$root.log"; skip "AMD's packages cannot be installed from $mirror"; }
  mv "$root.part" "$root"
}
if [ ! -e "$root/usr/bin/hipcc" ]; then make_root; fi

# In the root, the tree and the build have the same paths as outside, because programs contain these paths.
root=$(realpath "$root") build=$(realpath "$build") tree=$PWD work=$PWD/build/amd
rm -rf "$work"
mkdir -p "$work"
mounted=()
# shellcheck disable=SC2317  # the trap calls it
cleanup() {
  for point in "${mounted[@]}"; do umount -l "$point"; done
}
trap cleanup EXIT
for point in /proc /dev "$tree" "$build"; do
  mkdir -p "$root$point"
  if mountpoint -q "$root$point"; then continue; fi
  mount --bind "$point" "$root$point"
  mounted=("$root$point" "${mounted[@]}")
done
# shellcheck disable=SC2016  # the shell in the root expands it
inside() {
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 WEIR_CACHE_DIR=/tmp/weir-cache \
    chroot "$root" sh -c 'cd "$1" && shift && exec "$@"' sh "$tree" "$@"
}

# The reasons that count as valid for refusing a source: sentences of docs/kernels-dialect.md, and Clang's messages about
# missing features. For example, a kernel that was written for warps of 32 threads may be refused for other sizes.
refusals="the mask must have 64 bits"
clang_refusals="$refusals|functions that Clang lacks for [^:]*: (__weir_grid_barrier|weir_printf)|from ROCm's device libraries"
clang_refusals+="|'device' and 'global' attributes are not compatible"

# compile_all COMPILER ARCHITECTURE: compiles all sources, and prints a row of the table.
# shellcheck disable=SC2317  # `check` calls it
compile_all() {
  local compiler=$1 architecture=$2 results=$work/$1-$2 options=(--define TILE=64 --define EXPONENT=3) reasons=$refusals files=()
  case $compiler in
    hipcc) options+=(--compiler /usr/bin/hipcc) ;;
    clang)
      options+=(--clang "$(inside sh -c 'ls /usr/bin/clang++-[0-9]*' | sort -V | tail -n 1)")
      reasons=$clang_refusals
      ;;
  esac
  mkdir -p "$results"
  for file in "$work"/kernels/*.cu; do
    if [[ $architecture == gfx9* && $file == */narrow_* ]]; then continue; fi
    files+=("$file")
  done
  # shellcheck disable=SC2016  # the shell in the root expands these
  printf '%s\n' "${files[@]}" | inside xargs -P "$(nproc)" -I FILE sh -c '
    name=$(basename "$1" .cu) results=$2 tool=$3 architecture=$4
    shift 4
    timeout 300 "$tool" image --for "hip $architecture" --output "$results/$name.image" "$@" FILE >"$results/$name.log" 2>&1 ||
      mv "$results/$name.log" "$results/$name.failed"' sh FILE "$results" "$build/bin/weir-kernels" "$architecture" "${options[@]}"
  local refused=0 failed=0 compiled
  for log in "$results"/*.failed; do
    [ -e "$log" ] || continue
    if grep -qE "$reasons" "$log"; then
      refused=$((refused + 1))
      printf '  %s %s: %s is refused: %s\n' "$compiler" "$architecture" "$(basename "$log" .failed)" "$(grep -oEm1 "$reasons" "$log" | head -n 1)"
    else
      failed=$((failed + 1))
      printf 'FAILED: %s %s: %s\n' "$compiler" "$architecture" "$(basename "$log" .failed)"
      head -n 20 "$log"
    fi
  done
  compiled=$((${#files[@]} - refused - failed))
  printf '| %s | %s | %d | %d | %d | %d |\n' "$compiler" "$architecture" "${#files[@]}" "$compiled" "$refused" "$failed" | tee -a "$work/table.md"
  [ "$failed" = 0 ] && [ "$compiled" -ge 50 ]
}

status=0
check() { "$@" || status=1; }
python3 ci/kernel_sources.py "$work/kernels"
printf '| compiler | for | sources | compiled | refused | failed |\n|---|---|---|---|---|---|\n' >"$work/table.md"
for name in "${checks[@]}"; do
  printf '\n== %s\n' "$name"
  case $name in
    hiprtc | hipcc | clang) for architecture in "${architectures[@]}"; do check compile_all "$name" "$architecture"; done ;;
    table) for architecture in gfx90a gfx1100; do check inside "$build/bin/weir_kernel_corpus" "--table=$architecture"; done ;;
    releases)
      libraries=("$root"/usr/lib/*/libamdhip64.so.[0-9]* "$root"/usr/lib/*/libhiprtc.so.[0-9]*)
      check python3 ci/hip_releases.py "$root/usr/include" "${libraries[@]}"
      # Compare the hand-written prototypes and numbers with AMD's headers.
      check inside g++ -std=c++20 -fsyntax-only -Wno-unused-result -D__HIP_PLATFORM_AMD__ -I. -Iinclude \
        tests/drivers/hip_prototypes.cpp
      ;;
    runtimes)
      check inside "$build/bin/weir_hip_runtime_tests"
      for library in libamdhip64.so.6 libamdhip64.so.7; do
        path=$(printf '%s' "$root"/usr/lib/*/"$library")
        printf -- '-- %s\n' "$library"
        # Without a device, the exit status is 1.
        inside env "WEIR_HIP_RUNTIME=${path#"$root"}" "$build/bin/weir" info -v --backend=hip | tee "$work/info-$library.txt" || true
        check grep -q 'reports no device' "$work/info-$library.txt"
      done
      ;;
    *)
      echo "amd_root.sh: there is no check $name" >&2
      exit 2
      ;;
  esac
done
cat "$work/table.md"
exit $status
