# SPDX-License-Identifier: Apache-2.0
#
# How do I sum an array on the device from Python?
#
# Reduce within a block in shared memory, then add each block's sum with one atomic addition. The same source runs on
# GPUs and on the CPU.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void sum_of(int n, const int* x, int* total) {
  __shared__ int s[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(total, s[0]);
}"""


@weir.kernel(SOURCE)
def sum_of(n: weir.int32, x: weir.ptr[weir.int32], total: weir.ptr[weir.int32]) -> None: ...


device = weir.Device()
if not device.supports("block_cooperation"):
    raise SystemExit(77)  # skipped
numbers = np.random.default_rng(1).integers(-9, 9, 100_000, np.int32)
with device.create_stream() as stream:
    x = device.allocate(numbers.shape, numbers.dtype).copy_from(numbers)
    total = device.allocate(1, weir.int32)
    total.fill(0)
    weir.launch(stream, weir.grid_for(len(numbers), 256), sum_of, len(numbers), x, total)
    assert total.get()[0] == numbers.sum()
