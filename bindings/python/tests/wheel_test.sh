#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel_test.sh FOLDER [PYTHON]: installs the wheel of FOLDER that fits PYTHON (python3) into a new environment, away from any
# build tree, and compares a kernel on the CPU with numpy. Without a C++ compiler it first shows that the error names the
# package, and installs that one with apt-get. On a bare system:
#   SUITE=trixie ci/clean_root.sh /tmp/root bindings/python/tests/wheel_test.sh /wheels
# It needs python3-venv and python3-numpy, and installs them with apt-get if they are not there.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3,7s/^# //p' "$0"; exit 2; }
wheels=$(realpath "$1")
python=${2-python3}
install() {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

"$python" -c 'import ensurepip, numpy' 2>/dev/null || install python3 python3-venv python3-numpy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" install -q --no-index --no-deps --find-links "$wheels" weir
cat > "$work/ten_lines.py" <<'END'
import numpy as np, weir
device = weir.Device("host")
@weir.kernel("""extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }""")
def saxpy(n: weir.int32, a: weir.float32, x: weir.ptr, y: weir.ptr) -> None: ...
x, y = np.random.rand(2, 10_000).astype(np.float32)
with device.create_stream() as stream:
    ours = device.allocate(x.shape, weir.float32).copy_from(y)
    weir.launch(stream, weir.grid_for(x.size), saxpy, x.size, 2, weir.from_dlpack(x), ours)
    np.testing.assert_allclose(ours.get(), y + 2 * x, rtol=1e-6)
END
# shellcheck disable=SC2016  # nothing here is the shell's
run() { (cd / && env -i HOME="$work" PATH="$PATH" "$work/venv/bin/python" "$@"); }

run -c 'import weir; assert "venv" in weir.__file__; print("weir", weir.__version__, *weir.Device.get_all_devices())'
if ! command -v g++ >/dev/null && ! command -v clang++ >/dev/null; then
  if run "$work/ten_lines.py" 2> "$work/error"; then
    echo "wheel_test: the kernel compiled without a compiler" >&2
    exit 1
  fi
  tail -n 1 "$work/error"
  grep -q 'g++' "$work/error" || { echo "wheel_test: the error does not name the package g++" >&2; exit 1; }
  install g++
fi
run "$work/ten_lines.py"
run -c 'import importlib.metadata as m
licenses = [file for file in m.files("weir") if "/licenses/" in str(file)]
assert len(licenses) == 5 and all(file.read_text() for file in licenses), licenses'
run -m weir info | grep -q "compiler of kernels" || { echo "wheel_test: info does not name the compiler" >&2; exit 1; }
size=$(stat -c %s "$wheels"/weir-*.whl | sort -n | tail -n 1)
[ "$size" -le 5000000 ] || { echo "wheel_test: a wheel has $size bytes" >&2; exit 1; }
echo "wheel_test: passed with $("$python" --version), largest wheel $size bytes"
