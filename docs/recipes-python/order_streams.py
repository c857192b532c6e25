# SPDX-License-Identifier: Apache-2.0
#
# How do I make one stream wait for another in Python?
#
# `wait` takes a stream (PyTorch's `wait_stream`): later work of the one runs after everything that is enqueued on the
# other so far. Python does not wait. `wait` also takes streams of PyTorch, CuPy and others.
import weir

device = weir.Device()
producer, consumer = device.create_stream(), device.create_stream()
x, y = device.allocate(1 << 20, weir.int32), device.allocate(1 << 20, weir.int32)

x.fill(42, stream=producer)
consumer.wait(producer)
y.copy_from(x, stream=consumer)
producer.wait(consumer)  # and back: x is overwritten when it has been copied
x.fill(0, stream=producer)
assert (y.get(stream=consumer) == 42).all() and (x.get(stream=producer) == 0).all()
