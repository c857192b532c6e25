# SPDX-License-Identifier: Apache-2.0
"""Correct and wrong lines, which type checkers must distinguish. test_types.py checks this file; it is never run."""

import ctypes

import numpy as np

import weir

SOURCE = ""
numbers = np.zeros(16, np.float32)
device = weir.Device("host")
stream = device.create_stream(priority="high")
config = weir.LaunchConfig(4, (16, 16))
x = device.allocate((4, 4), weir.float32, kind="pinned")
flag = stream.allocate(1, "uint32")
event = stream.record(timing_enabled=True)
module = weir.compile(SOURCE, device, std="c++20", name_expressions=["f<int>"])
untyped = module.get_kernel("f", (weir.int32, weir.ptr))


@weir.kernel(SOURCE)
def scale(n: weir.uint32, a: weir.float32, x: weir.ptr[weir.float32]) -> None: ...


@weir.kernel(SOURCE)
def pick(all: weir.bool_, x: weir.ptr) -> None: ...


def right() -> None:
    weir.launch(stream, config, scale, 16, 2, x)
    weir.launch(None, config, scale, np.uint32(16), np.float32(2), x)
    weir.launch(stream, config, scale, x.size, weir.float32(2.5), numbers)
    weir.launch(stream, config, scale, ctypes.c_uint32(16), ctypes.c_float(2), None)
    weir.launch(stream.handle, config, pick, True, x.handle)
    weir.launch(stream, config, untyped, 16, x)
    scale((4,), (256,), (16, 2, x), stream=stream)
    scale.on(device)(4, 256, [16, 2, x])
    x.copy_from(numbers).copy_to(numbers).sum()
    x.copy_from(bytes(64), stream=stream.handle)
    x.view(np.int32, 16).fill(1)
    x.view(np.dtype("f4")).get().sum()
    device.allocate(np.int64(4), np.float32)
    stream.launch_host_func(print, "done", name="say")
    stream.add_callback(lambda stream, error, arg: print(arg), 2)
    stream.wait(event)
    stream.wait(device.default_stream)
    stream.wait_value(flag, 1, "eq")
    assert device.supports("graph_capture") and device != stream and x.dtype == np.float32
    with x, weir.capture(stream, mode="global") as captured:
        captured.stream.record()
    captured.graph.launch()
    end = event - event
    print(round(end, 2))


def wrong() -> None:
    weir.launch(stream, config, scale, 16, 2)
    weir.launch(stream, config, scale, 16, 2, x, x)
    weir.launch(stream, config, scale, 16.5, 2, x)
    weir.launch(stream, config, scale, x, 2, 16)
    weir.launch(stream, config, scale, 16, "2", x)
    weir.launch(stream, (4, 256), scale, 16, 2, x)
    weir.launch(event, config, scale, 16, 2, x)
    device.allocate(4.5, weir.float32)
    device.allocate(4, 32)
    device.allocate(4, weir.float32, kind="host")
    x.copy_from([1, 2, 3, 4])
    x.fill("0")
    x.get().fills(0)
    x.copy_from(numbers, stream=x)
    device.create_stream(priority="urgent")
    stream.wait_value(flag, 1, "ge")
    stream.launch_host_func(ord)
    weir.capture(stream, mode="local")
    weir.compile(SOURCE, device, std="c++11")
    weir.LaunchConfig(4, 256.0)
    scale.on(x)
