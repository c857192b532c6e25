# SPDX-License-Identifier: Apache-2.0
#
# How do I ask in Python whether work is done, without waiting?
#
# `is_done` of a stream or an event. False means that the work is not done yet, never that it failed: a failure is raised.
import time

import weir

device = weir.Device()
stream = device.create_stream()
x = device.allocate(1 << 20, weir.int32)
x.fill(42, stream=stream)
while not stream.is_done:
    time.sleep(50e-6)  # something useful would be done here
assert (x.get(stream=stream) == 42).all()
