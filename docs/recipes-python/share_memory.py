# SPDX-License-Identifier: Apache-2.0
#
# How do I share arrays with numpy, PyTorch, CuPy or JAX without a copy?
#
# By DLPack, both ways: `weir.from_dlpack(theirs)` and `theirs.from_dlpack(buffer)`. Each side's stream waits for the
# other's. Arrays of GPU libraries are also arguments of kernels as they are
# ([more](python-interop.md#arrays-of-other-libraries)).
import numpy as np
import weir

numbers = np.arange(6, dtype=np.float32)
buffer = weir.from_dlpack(numbers)  # on weir.Device("host"); a tensor of PyTorch's on the GPU would be there
buffer.fill(7)
assert buffer.handle == numbers.ctypes.data
again = np.from_dlpack(buffer)  # waits for the fill
assert (again == 7).all() and np.shares_memory(again, numbers)
