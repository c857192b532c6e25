# SPDX-License-Identifier: Apache-2.0
#
# How do I choose a GPU or the CPU in Python?
#
# `weir.Device()` follows the variables `WEIR_BACKEND` and `WEIR_DEVICE`. A name chooses in the program; if that backend
# cannot be used, the exception has the reason. Weir never falls back to the CPU silently. `python -m weir info` shows
# all of them.
import weir

for name in ("cuda", "hip", "host"):
    try:
        print(name, "is", weir.Device(name).name)
    except weir.Error as error:
        print(name, "cannot be used:", error.detail)

first = weir.Device("host")
assert first == weir.Device("host:0") and first.backend == "host"
