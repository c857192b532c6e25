# SPDX-License-Identifier: Apache-2.0
#
# How do I give a stream a priority in Python?
#
# With a level, which every device accepts, or a number in `priority_range`. A lower number is more urgent, as the
# vendors define it. A number out of range is an error; CUDA would clamp it silently.
import weir

device = weir.Device()
urgent, idle = device.create_stream(priority="high"), device.create_stream(priority="low")
least, greatest = device.priority_range
print("from", least, "(least) to", greatest, "(greatest)")
assert device.create_stream(priority=greatest).priority == urgent.priority <= idle.priority
try:
    device.create_stream(priority=greatest - 1)
except ValueError as error:
    print(error)
else:
    raise AssertionError
