# SPDX-License-Identifier: Apache-2.0
#
# How do I use a stream of PyTorch, CuPy or another library in Weir?
#
# `Stream.wrap` takes their objects and integers; every parameter for a stream also accepts theirs. For the other
# direction there are `interop.as_torch`, `as_cupy` and others, and `__cuda_stream__`
# ([table](python-interop.md#streams-of-other-libraries)). In this program another `Stream` plays the part of theirs.
import weir

device = weir.Device()
theirs = device.create_stream()
ours = weir.Stream.wrap(theirs.handle, device)  # of an object, its owner is kept; an integer must outlive `ours`
x = device.allocate(1000, weir.int32)
x.fill(1, stream=theirs)
x.fill(2, stream=ours)  # behind it: they are one stream
assert ours == theirs and (x.get(stream=theirs) == 2).all()
