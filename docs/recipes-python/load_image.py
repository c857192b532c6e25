# SPDX-License-Identifier: Apache-2.0
#
# How do I load a PTX, cubin, fatbin or code object in Python?
#
# `weir.load` takes bytes: PTX, a cubin or a fatbin on CUDA, a code object on HIP, on the CPU a file of the kernels' cache.
# It is cuda.core's `ObjectCode.from_cubin`, CuPy's `RawModule(path=…)`.
import os
import pathlib
import tempfile

import weir

PTX = b"""
.version 8.0
.target sm_52
.address_size 64
.visible .entry answer(.param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 42;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""
folder = tempfile.TemporaryDirectory()
os.environ["WEIR_CACHE_DIR"] = folder.name
device = weir.Device()
if device.backend == "cuda":
    image = PTX
elif device.backend == "host":
    weir.compile('extern "C" __global__ void answer(int* out) { *out = 42; }', device)
    (file,) = (path for path in pathlib.Path(folder.name).rglob("*") if path.is_file())
    image = file.read_bytes()
else:
    raise SystemExit(77)  # skipped: there is no code object here

with device.create_stream():
    out = device.allocate(1, weir.int32)
    weir.load(image, device)["answer"]((1,), (1,), (out,))
    assert out.get() == [42]
