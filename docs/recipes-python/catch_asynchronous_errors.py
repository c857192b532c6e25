# SPDX-License-Identifier: Apache-2.0
#
# How do I catch errors in Python that happen on the device later?
#
# A kernel fails when it runs, and not when it is launched. The next `sync`, `get` or `await`, and on a GPU `is_done`,
# raises `DeviceFaultError`. On CUDA the process can no longer use the device: report the error and end. To find the
# launch that failed, call `sync` after each one. Before ROCm 7.0 AMD's runtime itself ends the process.
import weir

device = weir.Device()
if device.backend == "hip":
    raise SystemExit(77)  # skipped: may end the process
fail = weir.compile('extern "C" __global__ void fail(int n) { assert(n > 0); }', device)["fail"]
stream = device.create_stream()
weir.launch(stream, weir.LaunchConfig(1, 32), fail, weir.int32(0))  # enqueued, and no error yet
try:
    stream.sync()
except weir.DeviceFaultError as error:
    print(error)
else:
    raise AssertionError
