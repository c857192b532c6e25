# SPDX-License-Identifier: Apache-2.0
#
# How do I compile a kernel in Python, and see the compiler's errors?
#
# `weir.compile` is CuPy's `RawModule` and cuda.core's `Program`: its options mean the same to NVRTC, HIPRTC and the host's
# compiler. A source that does not compile raises `CompilationFailedError`, whose text has the whole log, with the file's
# `name` and the lines of the source. Results are cached on disk.
import weir

SOURCE = r"""
extern "C" __global__ void power(float* x) {
  float result = 1;
  for (int i = 0; i < EXPONENT; ++i) result *= x[threadIdx.x];
  x[threadIdx.x] = result;
}"""

device = weir.Device()
module = weir.compile(SOURCE, device, name="power.cu", define_macro={"EXPONENT": "3"})
with device.create_stream() as stream:
    x = device.allocate(32, weir.float32)
    x.fill(2)
    weir.launch(stream, weir.LaunchConfig(grid=1, block=32), module["power"], x)
    assert (x.get() == 8).all()

try:
    weir.compile(SOURCE, device, name="power.cu")  # without EXPONENT
except weir.CompilationFailedError as error:
    print(error)
    assert "power.cu" in str(error) and "EXPONENT" in str(error)
else:
    raise AssertionError
