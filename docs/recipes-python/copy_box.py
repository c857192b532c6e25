# SPDX-License-Identifier: Apache-2.0
#
# How do I copy a part of a matrix in Python?
#
# Rows are a slice. Python has no copies at a pitch (cudaMemcpy2D): a part with fewer columns is a batch of parts of
# rows, or a slice of CuPy or PyTorch over the same memory. This program copies a block of 2 × 3 elements out of a
# matrix of 4 × 8.
import numpy as np
import weir

rows, columns = 4, 8
matrix = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
device = weir.Device()
with device.create_stream() as stream:
    x = device.allocate(matrix.shape, matrix.dtype).copy_from(matrix)
    assert (x[1:3].get() == matrix[1:3]).all()  # whole rows

    part = device.allocate((2, 3), weir.float32)  # rows 1 and 2, columns 4 to 6
    elements = x.view(shape=rows * columns)
    stream.copy_batch((part[i : i + 1], elements[(1 + i) * columns + 4 :][:3]) for i in range(2))
    assert (part.get() == matrix[1:3, 4:7]).all()
