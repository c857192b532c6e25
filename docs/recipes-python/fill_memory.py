# SPDX-License-Identifier: Apache-2.0
#
# How do I set memory to a value in Python (fill, zeros, full)?
#
# `fill` sets every element, of any type; unlike cudaMemset's its value is not a byte. Slices fill a part.
import numpy as np
import weir

device = weir.Device()
with device.create_stream():
    x = device.allocate((10, 10), weir.float64)
    x.fill(0)
    x[2:5].fill(1.5)
    expected = np.zeros((10, 10))
    expected[2:5] = 1.5
    assert (x.get() == expected).all()

    z = device.allocate(10, weir.complex64)
    z.fill(1 + 2j)
    assert (z.get() == 1 + 2j).all()
