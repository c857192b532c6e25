# SPDX-License-Identifier: Apache-2.0
#
# How do I launch a grid of two dimensions from Python?
#
# `LaunchConfig(grid=(4, 2), block=(16, 16))` is 4 × 2 blocks of 16 × 16 threads, x first. Round up, and let the threads
# outside return.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void transpose(int rows, int columns, const int* in, int* out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
}"""


@weir.kernel(SOURCE)
def transpose(rows: weir.int32, columns: weir.int32, input: weir.ptr[weir.int32], out: weir.ptr[weir.int32]) -> None: ...


rows, columns = 30, 50
matrix = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
device = weir.Device()
with device.create_stream() as stream:
    x = device.allocate(matrix.shape, matrix.dtype).copy_from(matrix)
    y = device.allocate((columns, rows), matrix.dtype)
    config = weir.LaunchConfig(grid=(-(-columns // 16), -(-rows // 16)), block=(16, 16))
    weir.launch(stream, config, transpose, rows, columns, x, y)
    assert (y.get() == matrix.T).all()
