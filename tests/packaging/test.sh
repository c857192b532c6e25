#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh installed|added SOURCE BUILD COMPILER VERSION: tests how other projects use Weir. `installed` installs BUILD, moves
# the installed tree, and builds and runs a program with it. `added` builds and runs the same program with SOURCE as a part
# of its project. In both cases, the program must find the host plugin without any environment variable.
set -euo pipefail

way=$1 source=$2 build=$3 compiler=$4 version=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset WEIR_PLUGIN_PATH WEIR_BACKEND LD_LIBRARY_PATH
consumer=$(dirname "$(realpath "$0")")/consumer
# Without debug information, so that a compiler cache, which minds folders otherwise, makes the next run short.
common=(-G Ninja -S "$consumer" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$compiler")
if command -v ccache >/dev/null; then common+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi

fail() {
  printf 'packaging: %s\n' "$1" >&2
  exit 1
}

# quietly NAME COMMAND…: shows the output only if the command fails.
quietly() {
  local name=$1
  shift
  "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "$name failed"; }
}

# runs PROGRAM FOLDER: the program works, with a host plugin from that folder.
runs() {
  local plugin
  plugin=$("$1") || fail "$1 failed"
  [[ $plugin == "$2"/*libweir_host.so ]] || fail "$1 used the plugin $plugin, not one in $2"
  printf 'ran with %s\n' "${plugin#"$folder"/}"
}

# test_cuda_program: a whole CUDA program, by CMake. Nothing comes from the folders that Weir was built from; a header that
# changes is noticed, and nothing else is compiled again.
test_cuda_program() {
  local program="$folder/cuda program" target=host number
  if [ "$(uname -m)" = x86_64 ]; then target='host x86-64'; fi
  cp -r "$(dirname "$consumer")/cuda_program" "$program"
  quietly "configuring a CUDA program" cmake -G Ninja -S "$program" -B "$program/build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$folder/moved" "-DCUDA_PROGRAM_FOR=$target"
  if ! cmake --build "$program/build" >"$folder/log" 2>&1; then
    if grep -q 'no Clang of version' "$folder/log"; then
      echo "no CUDA program is built: there is no Clang for it"
      return
    fi
    cat "$folder/log"
    fail "building a CUDA program failed"
  fi
  number=$(WEIR_BACKEND=host "$program/build/cuda_program") || fail "the CUDA program failed"
  [ "$number" = 22 ] || fail "the CUDA program made $number of 7, not 22"
  cat "$program/build/weir_cuda/cuda_program/main.cu.o.d" >"$folder/log"
  ldd "$program/build/cuda_program" >>"$folder/log"
  grep -q "$folder/moved/.*/weir/cudart/include/cuda_runtime.h" "$folder/log" || fail "the CUDA program does not depend on its headers"
  if grep -F "$source/" "$folder/log"; then fail "the CUDA program uses files of Weir's source or build"; fi
  sed -i 's/3/5/' "$program/include/factor.cuh"
  quietly "building the CUDA program again" cmake --build "$program/build"
  [ "$(grep -c 'Compiling' "$folder/log")" = 1 ] || { cat "$folder/log"; fail "not the one changed source is compiled again"; }
  quietly "installing the CUDA program" cmake --install "$program/build" --prefix "$program/installed"
  number=$(WEIR_BACKEND=host LD_LIBRARY_PATH=$1 "$program/installed/bin/cuda_program") || fail "the installed CUDA program failed"
  [ "$number" = 36 ] || fail "the CUDA program made $number of 7, not 36"
}

test_installed() {
  quietly "installing" cmake --install "$build" --prefix "$folder/first"
  mv "$folder/first" "$folder/moved"
  for program in "$folder"/moved/bin/*; do
    [ -e "$program" ] || continue  # a build without tools and tests has none
    quietly "$program --help" "$program" --help
  done
  if [ -x "$folder/moved/bin/weir" ]; then quietly "weir info" "$folder/moved/bin/weir" info; fi

  # The soname has the minor version until 1.0.
  series=${version%.*}
  [[ $series == 0.* ]] || series=${series%.*}
  local library plugin
  library=$(find "$folder/moved" -name libweir.so) plugin=$(find "$folder/moved" -name libweir_host.so)
  [ "$plugin" = "${library%/*}/weir-$series/libweir_host.so" ] || fail "$plugin is not in the folder weir-$series beside the library"
  local pass
  for pass in "$build"/lib/weir_workgroup-*.so; do
    if [ -e "$pass" ] && [ ! -e "${plugin%/*}/${pass##*/}" ]; then fail "${pass##*/} is not installed beside $plugin"; fi
  done
  readelf -d "$library" | grep "soname: \[libweir.so.$series\]" >/dev/null || fail "$library has not the soname libweir.so.$series"

  # Components are plugins; for one that is not installed the reason says which file is missing.
  if cmake "${common[@]}" -B "$folder/component" -DCMAKE_PREFIX_PATH="$folder/moved" -DWEIR_COMPONENTS="host;nosuch" \
    >"$folder/log" 2>&1; then
    fail "find_package finds a component that there is not"
  fi
  grep -q 'libweir_nosuch.so' "$folder/log" || { cat "$folder/log"; fail "find_package does not say why a component is missing"; }

  quietly "configuring with find_package" cmake "${common[@]}" -B "$folder/found" -DCMAKE_PREFIX_PATH="$folder/moved" \
    -DWEIR_COMPONENTS=host
  quietly "building with find_package" cmake --build "$folder/found"
  runs "$folder/found/consumer" "$folder/moved"

  # Kernels ahead of time, with both of CMake's main generators. They run without a compiler; a header that changes is noticed, and
  # nothing else is compiled again; an error names file, line and column.
  for generator in Ninja "Unix Makefiles"; do
    if [ "$generator" != Ninja ] && ! command -v make >/dev/null; then continue; fi
    kernels="$folder/kernels $generator"
    cp -r "$(dirname "$consumer")/kernels" "$kernels"
    quietly "configuring kernels ($generator)" cmake -G "$generator" -S "$kernels" -B "$kernels/build" \
      -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$folder/moved"
    prints() {  # NUMBER: what the program prints after a build
      quietly "building kernels ($generator)" cmake --build "$kernels/build" -j2
      local printed
      printed=$(WEIR_CACHE_DIR="$folder" WEIR_HOST_CXX=/bin/false "$kernels/build/program") || fail "the program with kernels failed"
      [ "$printed" = "$1" ] || fail "the kernel made $printed of 7, not $1 ($generator)"
    }
    prints 22
    sleep 1  # Make looks at seconds
    sed -i 's/3/5/' "$kernels/include/factor.cuh"
    prints 36
    quietly "building kernels once more" cmake --build "$kernels/build"
    if grep -q 'Compiling' "$folder/log"; then cat "$folder/log"; fail "what did not change is compiled again ($generator)"; fi
    sleep 1
    sed -i 's/x\[i\] = /y[i] = /' "$kernels/scale-it.cu"
    if cmake --build "$kernels/build" >"$folder/log" 2>&1; then fail "a source with an error compiles"; fi
    grep -q "/scale-it.cu:5:\(14:\)\? error: .*y" "$folder/log" || { cat "$folder/log"; fail "the error does not tell where it is"; }
  done
  if [ -x "$folder/moved/bin/weir" ]; then
    "$folder/moved/bin/weir" kernels inspect "$folder/kernels Ninja/build/program" >"$folder/log" || fail "weir kernels inspect failed"
    for line in "scale-it.cu," "image   host x86-64" "define  ADD(a, b)=a + b" "header  factor.cuh"; do
      case $(uname -m) in x86_64) ;; *) line=${line/x86-64/}; esac
      grep -q "$line" "$folder/log" || { cat "$folder/log"; fail "weir kernels inspect does not list '$line'"; }
    done
  fi

  if [ -x "$folder/moved/bin/weir" ] && [ -e "${library%/*}/libweir_cudart.so" ]; then test_cuda_program "${library%/*}"; fi

  # The same without CMake, with the commands of docs/building.md. The program starts, and no variable names the library.
  # Without its -std=c++20 there is one error, which says so.
  local compile
  if command -v pkg-config >/dev/null; then
    compile=$(sed -n 's/^\$ \(g++ .*pkg-config.*\) -o my_program$/\1/p' "$source/docs/building.md")
    [ -n "$compile" ] || fail "docs/building.md has no command with pkg-config"
    compile=${compile/g++/"$compiler"}
    compile=${compile/main.cpp/"$consumer/least.cpp"}
    export PKG_CONFIG_PATH="${library%/*}/pkgconfig"
    quietly "compiling with pkg-config" bash -c "$compile -o $folder/by_pkg_config"
    runs "$folder/by_pkg_config" "$folder/moved"
    if bash -c "${compile/-std=c++20/-std=c++17} -o $folder/by_pkg_config" >"$folder/log" 2>&1; then
      fail "Weir compiles as C++17"
    fi
    if [ "$(grep -c 'error' "$folder/log")" -gt 4 ] || ! grep -m1 'error:' "$folder/log" | grep -q 'Weir needs C++20'; then
      cat "$folder/log"
      fail "C++17 is not refused by one error"
    fi
  fi

  # A program in C: by a project that knows no C++, and by pkg-config. The library's number is its own.
  readelf -d "${library%/*}/libweir_c.so" | grep 'soname: \[libweir_c.so.0\]' >/dev/null || fail "libweir_c has not the soname libweir_c.so.0"
  quietly "configuring in C" cmake -G Ninja -S "$(dirname "$consumer")/c_consumer" -B "$folder/c" -DCMAKE_PREFIX_PATH="$folder/moved"
  quietly "building in C" cmake --build "$folder/c"
  runs "$folder/c/consumer" "$folder/moved"
  if command -v pkg-config >/dev/null; then
    # shellcheck disable=SC2046  # the flags are several words
    quietly "compiling C with pkg-config" cc -std=c11 -Wall -Wpedantic -Werror "$(dirname "$consumer")/c_consumer/main.c" \
      $(pkg-config --cflags --libs weir_c) -o "$folder/c_by_pkg_config"
    runs "$folder/c_by_pkg_config" "$folder/moved"
  fi

  # GCC and Clang follow one C++ ABI: a program of one works with a library of the other.
  for other in g++ clang++; do
    if [[ $(basename "$compiler") == *"$other"* ]] || ! command -v "$other" >/dev/null; then continue; fi
    quietly "compiling with $other" "$other" -std=c++20 "-DWEIR_KERNELS_TARGET=\"consumer.consumer\"" "$consumer/consumer.cpp" \
      "$folder/found/weir_kernels/consumer/triple.cpp" "-I$folder/moved/include" "-L${library%/*}" -lweir \
      -Wl,-rpath,"${library%/*}" -o "$folder/found/$other"
    runs "$folder/found/$other" "$folder/moved"
  done

  # A plugin's note outlives what distributions strip.
  quietly "strip" strip --strip-all "$plugin"
  runs "$folder/found/consumer" "$folder/moved"

  # The page that a newcomer follows: its program, with its CMakeLists.txt.
  started=$folder/started
  mkdir "$started"
  # block LANGUAGE: the first block of code in that language.
  block() { awk -v begin="^\`\`\`$1\$" '!inside && $0 ~ begin { inside = 1; next } inside && /^```$/ { exit } inside' "$2"; }
  block cmake "$source/docs/getting-started.md" >"$started/CMakeLists.txt"
  block cpp "$source/docs/getting-started.md" >"$started/main.cpp"
  quietly "configuring docs/getting-started.md" cmake "${common[@]}" -S "$started" -B "$started/build" \
    -DCMAKE_PREFIX_PATH="$folder/moved"
  quietly "building docs/getting-started.md" cmake --build "$started/build"
  quietly "the program of docs/getting-started.md" env WEIR_BACKEND=host WEIR_CACHE_DIR="$folder/cache" "$started/build/my_program"
  local status=0
  WEIR_BACKEND=host WEIR_HOST_THREADS=0 "$started/build/my_program" 2>"$folder/log" || status=$?
  if [ "$status" != 1 ] || ! grep -q "WEIR_HOST_THREADS='0'" "$folder/log"; then
    cat "$folder/log"
    fail "for a wrong variable the program of docs/getting-started.md ends with $status"
  fi

  # `weir new`, and the commands that it prints.
  if [ -x "$folder/moved/bin/weir" ]; then
    quietly "weir new" "$folder/moved/bin/weir" new "$folder/new_program"
    sed -n 's/^  //p' "$folder/log" >"$folder/commands"
    [ "$(wc -l <"$folder/commands")" = 3 ] || { cat "$folder/log"; fail "weir new prints no three commands"; }
    quietly "what weir new makes" env CXX="$compiler" WEIR_BACKEND=host WEIR_CACHE_DIR="$folder/cache" \
      bash -euo pipefail "$folder/commands"
    grep -q '^3 squared is 9 on ' "$folder/log" || { cat "$folder/log"; fail "the program of weir new is wrong"; }
    for file in man/man1/weir.1 man/man1/weir-kernels.1 bash-completion/completions/weir zsh/site-functions/_weir \
      fish/vendor_completions.d/weir.fish; do
      [ -e "$folder/moved/share/$file" ] || fail "$file is not installed"
    done
  fi

  # The program of docs/c.md.
  if command -v pkg-config >/dev/null; then
    block c "$source/docs/c.md" >"$started/main.c"
    # shellcheck disable=SC2046
    quietly "compiling docs/c.md" cc -std=c11 "$started/main.c" $(pkg-config --cflags --libs weir_c) -o "$started/c"
    quietly "the program of docs/c.md" env WEIR_BACKEND=host "$started/c"
  fi

  # A third party's backend, and the suite that is installed.
  template=$source/examples/backend_template
  quietly "configuring the template of a backend" cmake "${common[@]}" -S "$template" -B "$folder/template" \
    -DCMAKE_PREFIX_PATH="$folder/moved"
  quietly "building the template of a backend" cmake --build "$folder/template"
  if [ -x "$folder/moved/bin/weir-conformance" ]; then
    quietly "the suite on the template of a backend" ctest --test-dir "$folder/template" --no-tests=error --output-on-failure
  fi
}

test_added() {
  quietly "configuring with add_subdirectory" cmake "${common[@]}" -B "$folder/added" -DWEIR_SOURCE="$source" \
    -DWEIR_BACKEND_CUDA=OFF -DWEIR_BACKEND_HIP=OFF
  if grep -Eq 'WEIR_(BUILD_TESTS|BUILD_TOOLS|BUILD_EXAMPLES|BUILD_BENCH|INSTALL):BOOL=ON' "$folder/added/CMakeCache.txt"; then
    fail "as a part of another project, Weir builds more than the library and its plugins"
  fi
  # The program's own target is all that is asked for: the plugins come with the library.
  quietly "building with add_subdirectory" cmake --build "$folder/added" --target consumer
  runs "$folder/added/consumer" "$folder/added"

  # The project exports a library that links Weir, and installs nothing of Weir itself.
  quietly "installing the project" cmake --install "$folder/added" --prefix "$folder/project"
  grep -q 'weir::weir' "$folder"/project/lib/cmake/wrapper/wrapperTargets.cmake || fail "the project's export does not name weir::weir"
  if find "$folder/project" -name '*weir*' | grep . >/dev/null; then fail "the project installs files of Weir"; fi
}

"test_$way"
