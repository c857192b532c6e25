# SPDX-License-Identifier: Apache-2.0
#
# How do I use several GPUs in Python?
#
# Each device has its own streams, memory and modules. There is no current device to set: every object belongs to a
# device. Enqueue on all devices first and wait afterwards, so that they work at the same time.
import weir

default = weir.Device()
devices = [device for device in weir.Device.get_all_devices() if device.backend == default.backend]
parts = []
for device in devices:
    with device.create_stream() as stream:  # each device has a current stream
        x = device.allocate(1000, weir.float32)
        x.fill(device.device_id)
        parts.append((stream, x))
for i, (stream, x) in enumerate(parts):
    assert (x.get(stream=stream) == i).all()
