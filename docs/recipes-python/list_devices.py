# SPDX-License-Identifier: Apache-2.0
#
# How do I list the GPUs in Python?
#
# `get_all_devices` opens every backend, and so finds the GPUs of the machine, and the CPU. `arch` is the compute
# capability, as `sm_90`, or AMD's name, as `gfx942`.
import weir

devices = weir.Device.get_all_devices()
for device in devices:
    properties = device.properties
    print(f"{device}: {device.name}, {device.arch}, {properties.multiprocessor_count} multiprocessors")
    print(f"    {properties.total_memory >> 20} MiB")
assert weir.Device() in devices
