#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""y = a * x + y a hundred times, in Python, with nothing but ctypes: saxpy.py [LIBRARY], libweir_c.so.0 by default."""
import ctypes
import sys
from ctypes import Structure, byref, c_char_p, c_float, c_size_t, c_uint32, c_void_p, sizeof

weir = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libweir_c.so.0")
weir.weir_last_error_message.restype = c_char_p
weir.weir_device_describe.restype = c_char_p
weir.weir_allocation_data.restype = c_void_p
for name in "device_describe", "allocation_data", "stream_release", "module_release", "kernel_release", "graph_release", \
        "graph_exec_release", "allocation_release":
    getattr(weir, "weir_" + name).argtypes = [c_void_p]

INVALID_ARGUMENT, THREAD_LOCAL, DEVICE_MEMORY = 1, 1, 0
SOURCE = b"""
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""


class LaunchConfig(Structure):
    _fields_ = [("struct_size", c_size_t), ("grid", c_uint32 * 3), ("block", c_uint32 * 3),
                ("shared_memory_bytes", c_uint32), ("flags", c_uint32)]


def call(name, *arguments):
    """Calls weir_NAME, and raises its message if it fails."""
    if getattr(weir, "weir_" + name)(*arguments) != 0:
        raise RuntimeError(weir.weir_last_error_message().decode())


def make(name, *arguments):
    """Calls weir_NAME, whose last parameter receives a new object, and returns the object."""
    made = c_void_p()
    call(name, *arguments, byref(made))
    return made


steps, n = 100, 1 << 20
device = make("device_get_default")
stream = make("stream_create", device, None)
module = make("module_compile", device, SOURCE, None)
saxpy = make("module_get_kernel", module, b"saxpy")
size = c_size_t(n * sizeof(c_float))
x_memory, y_memory = (make("allocation_create", device, size, DEVICE_MEMORY) for _ in range(2))
x, y = (c_void_p(weir.weir_allocation_data(memory)) for memory in (x_memory, y_memory))
one = c_float(1)
call("stream_fill_pattern", stream, x, byref(one), c_size_t(4), c_size_t(4), c_size_t(n))
call("stream_fill", stream, y, c_uint32(0), c_size_t(4), c_size_t(n))

values = [c_uint32(n), c_float(0.5), x, y]
arguments = (c_void_p * 4)(*(ctypes.addressof(value) for value in values))
sizes = (c_size_t * 4)(*(sizeof(value) for value in values))
config = LaunchConfig(struct_size=sizeof(LaunchConfig))
call("grid_for", c_size_t(n), c_uint32(256), byref(config))
call("stream_begin_capture", stream, THREAD_LOCAL)
call("stream_launch", stream, saxpy, byref(config), arguments, sizes, c_size_t(4))
graph = make("stream_end_capture", stream)
graph_exec = make("graph_instantiate", graph, c_uint32(0))
for _ in range(steps):
    call("graph_exec_launch", graph_exec, stream)


# ctypes releases the interpreter's lock during each call, so that the driver's thread can take it for the host function. The
# function object must exist until the function has run.
@ctypes.CFUNCTYPE(None, c_void_p)
def say(_):
    print(f"the graph has run {steps} times")


call("stream_launch_host_function", stream, say, None, None)
result = (c_float * n)()
call("stream_read", stream, result, y, size)
assert all(value == 0.5 * steps for value in result)
print(f"{steps} steps on {weir.weir_device_describe(device).decode()}: every element is {result[0]:g}")

# An invalid call fails with a message.
assert weir.weir_stream_launch(stream, saxpy, byref(config), arguments, sizes, c_size_t(3)) == INVALID_ARGUMENT
print(weir.weir_last_error_message().decode())

for kind, handle in [("stream", stream), ("graph_exec", graph_exec), ("graph", graph), ("kernel", saxpy), ("module", module),
                     ("allocation", x_memory), ("allocation", y_memory)]:
    getattr(weir, f"weir_{kind}_release")(handle)
