# SPDX-License-Identifier: Apache-2.0
#
# How do I allocate memory of the device in Python?
#
# `allocate` takes a shape and a type; `allocate(n)` is `n` bytes. A `Buffer` is in C order and has no arithmetic: use
# numpy, CuPy or PyTorch for that. Slices and views share its memory, which is freed when the last of them is gone.
import numpy as np
import weir

device = weir.Device()
with device.create_stream():
    x = device.allocate((4, 250), weir.float32)  # cudaMalloc; the content is undefined
    first = x[:2]  # its first two rows
    flat = x.view(shape=1000)
    x.fill(1)
    first.fill(2)
    del x  # nothing is freed yet
    assert (flat.get() == np.repeat([2, 1], 500)).all()
    assert flat.dtype is weir.float32 and flat.nbytes == 4000
