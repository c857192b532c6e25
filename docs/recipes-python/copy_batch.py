# SPDX-License-Identifier: Apache-2.0
#
# How do I make many small copies in one call from Python?
#
# `copy_batch` (cuMemcpyBatchAsync) takes pairs of buffers, the destination first. They are copied in any order; later
# work of the stream runs after all of them. If the driver has no such call, Weir makes single copies: the feature
# `batch_copies` is then emulated.
import numpy as np
import weir

device = weir.Device()
numbers = np.arange(64 * 256, dtype=np.float32).reshape(64, 256)
with device.create_stream() as stream:
    table = device.allocate(numbers.shape, numbers.dtype).copy_from(numbers)
    gathered = device.allocate((32, 256), numbers.dtype)
    stream.copy_batch((gathered[i : i + 1], table[2 * i : 2 * i + 1]) for i in range(32))  # every second row
    assert (gathered.get() == numbers[::2]).all()
