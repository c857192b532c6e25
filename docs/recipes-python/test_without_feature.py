# SPDX-License-Identifier: Apache-2.0
#
# How do I test what my program does on a device without a feature?
#
# `WEIR_DISABLE_FEATURES` makes features absent on every device. Set it before Weir is first used: in the shell,
# `WEIR_DISABLE_FEATURES=graph_capture python program.py`, or in the program, as here.
import os

os.environ["WEIR_DISABLE_FEATURES"] = "graph_capture"

import weir

device = weir.Device()
assert not device.supports("graph_capture")
try:
    device.create_stream().begin_capture()
except NotImplementedError as error:  # weir.UnsupportedError, with the reason
    print(error)
else:
    raise AssertionError
