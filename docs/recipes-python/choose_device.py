# SPDX-License-Identifier: Apache-2.0
#
# How do I choose a GPU by its number, its name or its UUID in Python?
#
# By number: `weir.Device(1)`, or `weir.Device("cuda:1")`. By anything else: compare the properties of each. A UUID or a
# PCI address means the same card, even if `CUDA_VISIBLE_DEVICES` changes the numbers. No call depends on a current
# device.
import weir


def find_device(text: str) -> weir.Device:
    """The first device whose name contains `text`, or whose UUID or PCI address it is."""
    for device in weir.Device.get_all_devices():
        if text in device.name or text in (device.uuid, device.pci_bus_id):
            return device
    raise LookupError(f"there is no device {text}")


wanted = weir.Device(0)
found = find_device(wanted.name)
assert found.name == wanted.name and found.backend == wanted.backend
