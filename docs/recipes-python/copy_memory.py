# SPDX-License-Identifier: Apache-2.0
#
# How do I copy a numpy array to the device and back?
#
# `copy_from` and `copy_to` take buffers, numpy arrays and everything with the buffer protocol. Between buffers they do
# not block; with numpy the copy is done when they return, so you may change the array. `get` makes a new array.
import numpy as np
import weir

device = weir.Device()
numbers = np.arange(12, dtype=np.int32).reshape(3, 4)
with device.create_stream():
    x = device.allocate(numbers.shape, numbers.dtype).copy_from(numbers)  # host to device
    y = device.allocate(numbers.shape, numbers.dtype).copy_from(x)  # device to device, in the same order
    result = np.empty_like(numbers)
    y.copy_to(result)  # device to host; waits
    assert (result == numbers).all() and (y.get() == numbers).all()
