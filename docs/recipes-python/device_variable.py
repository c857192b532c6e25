# SPDX-License-Identifier: Apache-2.0
#
# How do I set a constant or a global variable of a kernel from Python?
#
# `get_global`, like CuPy's, returns the memory of a `__constant__` or `__device__` variable, as bytes. Each module has
# its own variables.
import numpy as np
import weir

SOURCE = r"""
__constant__ float weights[4];
extern "C" __global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x]; }
"""

device = weir.Device()
module = weir.compile(SOURCE, device)
with device.create_stream() as stream:
    module.get_global("weights").copy_from(np.array([1, 2, 3, 4], np.float32))
    x = device.allocate(4, weir.float32)
    x.fill(10)
    weir.launch(stream, weir.LaunchConfig(1, 4), module["weigh"], x)
    assert (x.get() == [10, 20, 30, 40]).all()
