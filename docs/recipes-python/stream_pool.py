# SPDX-License-Identifier: Apache-2.0
#
# How do I get a stream now and then in Python without making a new one?
#
# A `StreamPool` makes its streams when they are first needed and lends them: `with pool.lease() as stream:` makes one
# current and gives it back. `sharing="round_robin"` lends the same streams to several at a time, as PyTorch's pool does.
import weir

device = weir.Device()
pool = weir.StreamPool(device, max_streams=2)
x = device.allocate(1000, weir.int32)
for i in range(1, 11):
    with pool.lease() as stream:
        x.fill(i)
        stream.sync()

first, second = pool.lease(), pool.lease()
assert pool.size == 2 and first.stream != second.stream
assert pool.try_lease() is None  # lease() would raise PoolExhaustedError
first.close()
with pool.lease():
    assert (x.get() == 10).all()
