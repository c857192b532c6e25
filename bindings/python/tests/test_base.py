# SPDX-License-Identifier: Apache-2.0
"""Tests errors, devices, types and the module itself."""

import copy
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import weir


def test_objects_that_only_new_made_are_refused():
    def empty(cls):
        return cls.__new__(cls)

    device = weir.Device()
    stream, config = device.create_stream(), weir.LaunchConfig(1, 1)
    kernel = weir.compile('extern "C" __global__ void f(int* x) { *x = 1; }', device)["f"]
    with pytest.raises(BufferError):
        memoryview(empty(weir.Buffer))
    for arguments in (
        (empty(weir.Stream), config, kernel, None),
        (stream, empty(weir.LaunchConfig), kernel, None),
        (stream, config, empty(weir.Kernel), None),
        (stream, config, kernel, empty(weir.Buffer)),
    ):
        with pytest.raises(TypeError):
            weir.launch(*arguments)
    with pytest.raises(TypeError):
        empty(weir.Stream).add_callback(print)


def test_errors_have_classes():
    stream = weir.Device().create_stream()
    stream.close()
    with pytest.raises(weir.StreamClosedError) as caught:
        stream.sync()
    assert caught.value.code == "stream_closed"
    with pytest.raises(ValueError):
        weir.Device(1000)


def test_names():
    device = weir.Device()
    stream = device.create_stream()
    assert stream.name == ""
    stream.name = "copies"
    assert stream.name == "copies"
    assert "'copies'" in repr(stream)
    event = stream.record()
    event.name = "ready"
    assert event.name == "ready"
    buffer = device.allocate(16)
    buffer.name = "weights"
    assert buffer[:4].name == "weights"
    del event, buffer
    assert stream.record().name == ""
    assert device.allocate(16).name == ""


def test_integers_of_numpy_are_integers():
    device = weir.Device(np.int64(0))
    x = device.allocate(np.prod((2, 3)), weir.float32)
    assert x.shape == (6,)
    assert weir.LaunchConfig(np.int64(4), np.uint8(32)).grid == (4, 1, 1)
    assert weir.LaunchConfig((np.int32(4), 2), 32).grid == (4, 2, 1)
    assert weir.grid_for(np.int64(1000)).grid == (4, 1, 1)
    device.create_stream(priority=np.int64(0))
    assert x.view(weir.uint8, np.int16(24)).shape == (24,)
    stream = device.create_stream()
    assert weir.Stream.wrap(np.uint64(stream.handle), device) == stream


def test_launch_configurations_are_values():
    a, b = weir.LaunchConfig((2, 3), 64, 16), weir.LaunchConfig((2, 3, 1), (64, 1), 16)
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != weir.LaunchConfig((2, 3), 64) and a != (2, 3) and a is not None
    assert eval(repr(a), {"LaunchConfig": weir.LaunchConfig}) == a and repr(a).startswith("LaunchConfig(grid=(2, 3, 1), block=(64, 1, 1), ")


def test_devices_are_pickled_by_their_names():
    device = weir.Device()
    assert pickle.loads(pickle.dumps(device)) == device == copy.deepcopy(device)


def test_types_equal_those_of_numpy():
    x = weir.Device().allocate((2, 3), weir.float32)
    assert x.dtype == np.float32 == x.dtype and x.dtype == np.dtype("f4") and x.dtype == "float32" and x.dtype == weir.float32
    assert x.dtype != np.float64 and x.dtype != np.dtype(">f4") and x.dtype != None and x.dtype != 4
    assert {weir.float32: 1}[x.dtype] == 1
    assert (x.ndim, x.itemsize) == (2, 4)


EMPTY = 'extern "C" __global__ void f() {}'


def captured(stream):
    with weir.capture(stream) as captured:
        stream.launch_host_func(print)
    return captured.graph


def test_errors_speak_python():
    device = weir.Device()
    with pytest.raises(weir.Error, match="timing_enabled=True") as caught:
        device.create_event() - device.create_event()
    assert "EventOptions" not in caught.value.detail
    stream = device.create_stream()
    stream.close()
    with pytest.raises(weir.StreamClosedError, match=r"^Stream\.sync on ") as caught:
        stream.sync(timeout=1)
    assert caught.value.operation == "Stream.sync"


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda d, s: weir.GraphBuilder(d).add([7], lambda on: None), "GraphBuilder.add"),
        (lambda d, s: weir.Device("nonsense"), "weir.Device"),
        (lambda d, s: weir.Device(1000), "weir.Device"),
        (lambda d, s: s.last_captured_node, "Stream.last_captured_node"),
        (lambda d, s: s.end_capture(), "Stream.end_capture"),
        (lambda d, s: d.allocate(4).fill(1, stream=s.close() or s), "Buffer.fill"),
        (lambda d, s: s.allocate(4, pool=s.close()), "Stream.allocate"),
        (lambda d, s: s.launch_host_func(print, s.close()), "Stream.launch_host_func"),
        (lambda d, s: weir.launch(s, weir.LaunchConfig(1, 1 << 20), weir.compile(EMPTY, d)["f"]), "weir.launch"),
        (lambda d, s: weir.compile(EMPTY, d)["g"], "Module.get_kernel"),
        (lambda d, s: weir.compile(EMPTY, d).get_global("g"), "Module.get_global"),
        (lambda d, s: weir.load(b"no image", d), "weir.load"),
        (lambda d, s: d.load_graph(b"no graph"), "Device.load_graph"),
        (lambda d, s: captured(s).to_bytes(), "Graph.save"),
    ],
)
def test_errors_name_calls_as_python_does(call, name):
    device = weir.Device()
    with pytest.raises(weir.Error) as caught:
        call(device, device.create_stream())
    assert caught.value.operation == name and str(caught.value).startswith(name)
    assert "::" not in str(caught.value) and "{." not in str(caught.value)


def test_a_time_that_is_no_number_is_refused():
    stream = weir.Device().create_stream()
    for wait in (stream.sync, stream.record().sync, stream.device.sync):
        with pytest.raises(ValueError, match="timeout"):
            wait(timeout=math.nan)


def test_info_tells_what_is_wrong():
    for backend in ("", "nonsense"):
        command = [sys.executable, "-m", "weir", "info"]
        done = subprocess.run(command, env={**os.environ, "WEIR_BACKEND": backend}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert "WEIR_BACKEND" in done.stderr + done.stdout


def test_each_code_has_a_class():
    header = pathlib.Path(__file__).parents[3] / "include" / "weir" / "errors.h"
    classes = re.findall(r"^  X\(\d+, \w+, \w+, (\w+),", header.read_text(), re.M)
    assert len(classes) > 30 and all(issubclass(getattr(weir, name), weir.Error) for name in classes)
    stream = weir.Device().create_stream()
    with pytest.raises(weir.CaptureError) as caught:
        stream.end_capture()
    assert caught.value.code == "not_capturing"
    with pytest.raises(weir.BackendUnavailableError) as caught:
        weir.Device("nonsense")
    assert caught.value.code == "backend_unknown"


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda d: d.create_stream().record(5), r"Stream\.record: a weir\.Event is expected, .* int"),
        (lambda d: d.create_stream(priority=1.5), "priority: .* float"),
        (lambda d: d.allocate("abc"), "shape: .* str"),
        (lambda d: d.allocate((2, 2.5)), "shape: .* float"),
        (lambda d: weir.LaunchConfig("ab", 1), "."),
        (lambda d: weir.Stream.wrap(-1, d), "."),
        (lambda d: weir.compile("", d, debug="yes"), "."),
        (lambda d: weir.launch(-1, weir.LaunchConfig(1, 1), None), "."),
    ],
)
def test_a_wrong_type_is_named_with_its_argument(call, text):
    with pytest.raises(TypeError, match=text):
        call(weir.Device())
