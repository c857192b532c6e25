# SPDX-License-Identifier: Apache-2.0
#
# How do I keep something for each stream in Python?
#
# In a dictionary: all objects over one native stream are equal, and have the same hash. Remove the entry before the
# stream ends: drivers give a destroyed stream's handle to the next one.
import weir

device = weir.Device()
a, b = device.create_stream(), device.create_stream()
names = {a: "a", b: "b"}
again = weir.Stream.wrap(a.handle, device)
assert names[again] == "a" and names[b] == "b" and len(names) == 2
