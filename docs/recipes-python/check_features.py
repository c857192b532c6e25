# SPDX-License-Identifier: Apache-2.0
#
# How do I find out in Python what a device can do?
#
# A capability that some device or driver lacks is a feature. `supports` tests one; `features` has all, each with
# `"native"`, `"emulated"` or `"absent"` and the reason. `require` raises with the reason: call it when the program
# starts.
import weir

device = weir.Device()
for name, (support, reason) in device.features.items():
    if support != "native":
        print(f"{name} is {support}: {reason}")

device.require("host_functions")
assert device.supports("host_functions")
try:
    device.supports("time_travel")
except ValueError as error:
    print(error)
else:
    raise AssertionError
