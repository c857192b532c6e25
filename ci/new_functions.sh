#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lists the functions in the newest headers of CUDA and HIP that are missing in docs/porting-tables.md: new_functions.sh
# [CUDA_FOLDER HIP_FOLDER]
#
# Without folders, pip downloads the newest packages from PyPI (6 MB). HIP's package contains the declarations for Cython
# instead of headers. The exit status is 0 if page and headers agree, 1 if not, 2 if pip fails. When a function is missing,
# add it to a row of the page, with Weir's equivalent or the reason why there is none. Then raise the releases in
# docs/tools/porting.py.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
if [ $# = 2 ]; then exec python3 docs/tools/porting.py --newest "$1" "$2"; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get() {  # FOLDER PACKAGE…
  if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version=3.11 \
    --platform=manylinux2014_x86_64 --platform=manylinux_2_28_x86_64 --dest="$work/$1" "${@:2}"; then
    printf 'new_functions.sh: pip does not get %s; give folders with headers instead\n' "${*:2}" >&2
    exit 2
  fi
  for wheel in "$work/$1"/*.whl; do
    printf '%s\n' "$(basename "$wheel")"
    python3 -m zipfile -e "$wheel" "$work/$1"
  done
}
get cuda nvidia-cuda-runtime nvidia-cuda-profiler-api
get hip rocm-bindings-hip
cuda=$(dirname "$(find "$work/cuda" -name cuda.h)")
python3 docs/tools/porting.py --newest "$cuda" "$work/hip"
