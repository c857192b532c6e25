# SPDX-License-Identifier: Apache-2.0
#
# How do I launch an instance of a kernel template from Python?
#
# `name_expressions` lists the instances to compile, and `get_kernel` takes the same names, like CuPy's `RawModule`.
import numpy as np
import weir

SOURCE = r"""
template <class T, int N>
__global__ void scale(T* x) { x[threadIdx.x] *= N; }
"""

device = weir.Device()
names = ["scale<float, 2>", "scale<double, 3>"]
module = weir.compile(SOURCE, device, name_expressions=names)
with device.create_stream():
    for name, dtype, factor in zip(names, (weir.float32, weir.float64), (2, 3)):
        x = device.allocate(16, dtype).copy_from(np.arange(16, dtype=dtype))
        module.get_kernel(name)((1,), (16,), (x,))  # as CuPy calls a kernel; on the current stream
        assert (x.get() == factor * np.arange(16)).all()
