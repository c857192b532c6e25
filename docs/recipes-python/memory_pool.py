# SPDX-License-Identifier: Apache-2.0
#
# How do I keep freed memory for the next allocation in Python (memory pools)?
#
# At a `sync`, a pool returns unused memory to the system, down to its release threshold, which is 0 unless you set it.
# CuPy's pool keeps everything; a high threshold does that here. Without a pool, `stream.allocate` uses the device's
# default pool, which all code of the process shares. To keep its memory, set
# `device.default_memory_pool.set_release_threshold(bytes)`.
import weir

device = weir.Device()
if not device.supports("memory_pools"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
pool = device.create_memory_pool(release_threshold=64 << 20)
for _ in range(10):
    x = stream.allocate(1 << 20, weir.float32, pool)
    x.fill(0, stream=stream)
    assert pool.used_bytes() >= 4 << 20
    del x
stream.sync()
print(pool.used_bytes(), "bytes used,", pool.total_bytes(), "kept")
assert pool.used_bytes() == 0
pool.trim_to(0)
