# SPDX-License-Identifier: Apache-2.0
#
# How do I give a stream a priority in Python?
#
# By a level, which every device takes, or by a number in `priority_range`. As the vendors count, a lower number is more
# urgent. A number out of range is an error; CUDA would clamp it without a word.
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
