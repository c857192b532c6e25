# SPDX-License-Identifier: Apache-2.0
#
# How do I make a stream the current one in Python, for code that takes none?
#
# `with stream:`, as in CuPy. It is a context variable: each thread and each asyncio task has its own. If you leave out
# an argument `stream`, Weir uses the current one; without a `with`, that is the device's default stream.
import weir

device = weir.Device()
stream = device.create_stream()
x = device.allocate(1000, weir.int32)


def clear(buffer: weir.Buffer) -> None:
    buffer.fill(0)


x.fill(1, stream=stream)
with stream:
    clear(x)  # on `stream`
    assert weir.get_current_stream(device) == stream
assert weir.get_current_stream(device) == device.default_stream
assert (x.get(stream=stream) == 0).all()
