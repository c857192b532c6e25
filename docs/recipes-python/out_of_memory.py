# SPDX-License-Identifier: Apache-2.0
#
# How do I handle running out of memory in Python?
#
# `OutOfMemoryError` is a `MemoryError`, and nothing has changed. Free something, or use a smaller part, and try again.
import weir


def allocate_at_most(device: weir.Device, size: int) -> weir.Buffer:
    while True:
        try:
            return device.allocate(size)
        except MemoryError as error:
            print(error)
            size >>= 10


x = allocate_at_most(weir.Device(), 1 << 60)
assert 0 < x.nbytes < 1 << 60
