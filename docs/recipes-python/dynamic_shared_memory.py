# SPDX-License-Identifier: Apache-2.0
#
# How do I give a kernel dynamic shared memory from Python, and more than 48 KiB of it?
#
# With `shmem_size`, as in cuda.core; with `shared_mem` if you call the kernel as in CuPy. A block may have up to
# `max_shared_memory_per_block_optin` bytes. For more than 48 KiB CUDA needs an attribute of the kernel; Weir sets it
# with the launch.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void reverse(int n, int* x) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = s[n - 1 - i];
}"""


@weir.kernel(SOURCE)
def reverse(n: weir.int32, x: weir.ptr[weir.int32]) -> None: ...


device = weir.Device()
if not device.supports("block_cooperation"):
    raise SystemExit(77)  # skipped
size = min(device.properties.max_shared_memory_per_block_optin, 64 << 10)
numbers = np.arange(size // 4, dtype=np.int32)
with device.create_stream() as stream:
    x = device.allocate(numbers.shape, numbers.dtype).copy_from(numbers)
    weir.launch(stream, weir.LaunchConfig(grid=1, block=256, shmem_size=size), reverse, len(numbers), x)
    assert (x.get() == numbers[::-1]).all()
