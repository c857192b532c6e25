# SPDX-License-Identifier: Apache-2.0
#
# How do I launch a kernel whose arguments I only know at run time, from Python?
#
# Arguments are objects like any others: build a list of them. `num_arguments` is the number that the kernel takes, if
# the driver reports it.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void scale(float factor, float* x) { x[threadIdx.x] *= factor; }
extern "C" __global__ void fill(float* x, int value) { x[threadIdx.x] = value; }
"""

device = weir.Device()
module = weir.compile(SOURCE, device)
with device.create_stream() as stream:
    x = device.allocate(32, weir.float32)
    program = [("fill", [x, np.int32(3)]), ("scale", [np.float32(2), x])]
    for name, arguments in program:
        kernel = module[name]
        assert kernel.num_arguments in (None, len(arguments))
        weir.launch(stream, weir.LaunchConfig(1, 32), kernel, *arguments)
    assert (x.get() == 6).all()
