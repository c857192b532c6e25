# SPDX-License-Identifier: Apache-2.0
#
# How do I run my first kernel from Python?
#
# The kernel is CUDA C++, in a string, and is compiled when the program runs: with NVRTC on NVIDIA GPUs, with HIPRTC on AMD
# GPUs, with the system's C++ compiler on the CPU. `@weir.kernel` takes its parameters' types from a signature.
# `weir.grid_for(n)` is enough blocks of 256 threads for `n` elements; `get` waits, and returns a numpy array.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void square(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
}"""


@weir.kernel(SOURCE)
def square(n: weir.int32, x: weir.ptr[weir.float32]) -> None: ...


n = 1000
numbers = np.arange(n, dtype=np.float32)
device = weir.Device()  # an NVIDIA GPU, an AMD GPU or the CPU
with device.create_stream() as stream:  # the current stream, from here on
    x = device.allocate(n, weir.float32).copy_from(numbers)
    weir.launch(stream, weir.grid_for(n), square, n, x)
    assert (x.get() == numbers**2).all()
print("3 squared is", x.get()[3], "on", device.name)
