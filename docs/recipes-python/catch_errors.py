# SPDX-License-Identifier: Apache-2.0
#
# How do I catch errors in Python?
#
# Every error is a `weir.Error`, and each kind has a class of its own; some are also `MemoryError`, `ValueError`,
# `TimeoutError` and the like. The text names the operation, the object, the cause and the remedy. A call that raises has
# had no effect.
import weir

device = weir.Device()
x = device.allocate(1000)
try:
    x.copy_from(device.allocate(999))
except weir.LengthMismatchError as error:
    print(error)
    print(error.code, "of", error.operation, "-", "the driver said", error.native_name or "nothing, it was not asked")
    assert isinstance(error, ValueError) and error.code == "length_mismatch"
else:
    raise AssertionError

stream = device.create_stream()
stream.close()
try:
    stream.record()
except weir.StreamClosedError:
    pass
else:
    raise AssertionError
