# SPDX-License-Identifier: Apache-2.0
#
# How do I measure in Python how long work takes on the device?
#
# With two events that record the time: `end - begin` is in milliseconds, by the device's clock, and raises
# `NotReadyError` until the later one is done.
import weir

device = weir.Device()
if not device.supports("event_timing"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
x, y = device.allocate(16 << 20), device.allocate(16 << 20)
x.fill(0, stream=stream)

begin = stream.record(timing_enabled=True)
for _ in range(10):
    y.copy_from(x, stream=stream)
end = stream.record(timing_enabled=True)
end.sync()
ms = end - begin
print(f"10 copies of 16 MiB: {ms:.3f} ms, {10 * 2 * x.nbytes / ms / 1e6:.1f} GB/s")
assert ms > 0
