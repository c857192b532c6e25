# SPDX-License-Identifier: Apache-2.0
#
# How do I pin a numpy array that I have already?
#
# `register_host` (cudaHostRegister) pins it in place and returns a `Buffer` over it, whose copies do not block. It is
# pinned, and the array is kept, until that buffer is gone and the device's work is done.
import numpy as np
import weir

device = weir.Device()
if not device.supports("host_registration"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
numbers = np.arange(100_000, dtype=np.float64)
pinned = device.register_host(numbers)
assert pinned.handle == numbers.ctypes.data and pinned.kind == "pinned"

x = device.allocate(pinned.shape, pinned.dtype)
x.copy_from(pinned, stream=stream)  # returns at once
pinned.fill(-1, stream=stream)
stream.sync()
assert (numbers == -1).all() and (x.get(stream=stream) == np.arange(100_000)).all()
