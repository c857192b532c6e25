# SPDX-License-Identifier: Apache-2.0
"""Tests graphs that one process saves and another one loads."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import time
import weakref

import numpy as np
import pytest

import weir

SOURCE = 'extern "C" __global__ void scale(int n, float by, float* x) { if (threadIdx.x < n) x[threadIdx.x] *= by; }'
ROW = weir.LaunchConfig(1, 64)


@weir.kernel(SOURCE)
def scale(n: weir.int32, by: weir.float32, x: weir.ptr[weir.float32]) -> None: ...


@pytest.fixture
def memory():
    """The current stream, and three buffers of 64 numbers."""
    device = weir.Device()
    with device.create_stream() as stream:
        yield stream, *(device.allocate(64, weir.float32).copy_from(np.arange(64, dtype=np.float32)) for _ in range(3))


def test_another_process_loads_what_this_one_saved(memory, tmp_path):
    stream, x, y, weights = memory
    with weir.capture(stream, portable=True) as captured:
        y.copy_from(x)
        weir.launch(stream, ROW, scale, 64, 3, y)
        x.copy_from(weights)
    file = tmp_path / "step.weirgraph"
    captured.graph.save(file, {"y": y}, scratch={"x": x}, contents={"weights": weights})
    assert file.stat().st_mode & 0o777 == 0o600
    # Two graphs of one capture have the same bytes.
    assert captured.graph.to_bytes({"y": y}, scratch={"x": x}, contents={"weights": weights}) == file.read_bytes()

    with weir.capture(stream, portable=True) as captured:
        y.copy_from(x)
        weir.launch(stream, ROW, scale, 64, 3, y)
        weir.launch(stream, ROW, scale, 10, -1, y)
    captured.graph.save(file, {"x": x, "y": y})
    captured.graph.launch()
    program = f"""
        import numpy as np, weir
        device = weir.Device()
        step = device.load_graph({str(file)!r})
        x = device.allocate(64, weir.float32).copy_from(np.arange(64, dtype=np.float32))
        y = device.allocate(100, weir.float32)
        step.bind("x", x)
        step.bind("y", y)
        graph = step.build()
        with device.create_stream() as stream:
            graph.launch()
            stream.sync()
            open({str(tmp_path / "result")!r}, "wb").write(y[:64].get().tobytes())
    """
    subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(program)], check=True, timeout=120)
    assert (tmp_path / "result").read_bytes() == y.get().tobytes()


def test_roles_of_memory(memory):
    stream, x, y, weights = memory
    with weir.capture(stream, portable=True) as captured:
        x.copy_from(weights)
        weir.launch(stream, ROW, scale, 64, 2, x)
        y.copy_from(x)
    saved = captured.graph.to_bytes({"y": y}, scratch={"x": x}, contents={"weights": weights})
    weights.fill(0)
    loaded = stream.device.load_graph(saved)
    assert loaded.device == stream.device and loaded.captured_on.startswith(stream.device.backend + " ")
    known = loaded.memory
    assert [(name, m.role, m.nbytes, m.kind, m.handle) for name, m in known.items()] == [
        ("y", "bound", 256, "device", 0),
        ("x", "scratch", 256, "device", 0),
        ("weights", "contents", 256, "device", 0),
    ]
    assert 1 <= known["y"].alignment <= 256 and "'y'" in repr(known["y"]) and "portable graph" in repr(loaded)
    assert loaded.host_functions == []
    with pytest.raises(weir.InvalidArgumentError, match="memory 'y'"):
        loaded.build()
    result = stream.device.allocate(64, weir.float32)
    loaded.bind("y", result)
    graph = loaded.build()
    assert graph.nodes == captured.graph.nodes and graph.edges == captured.graph.edges
    assert loaded.memory["y"].handle == result.handle and loaded.memory["x"].handle != 0
    del loaded
    gc.collect()
    graph.launch()
    assert (result.get() == 2 * np.arange(64)).all()


def test_what_bind_refuses(memory):
    stream, x, y, _ = memory
    with weir.capture(stream, portable=True) as captured:
        y.copy_from(x)
    loaded = stream.device.load_graph(captured.graph.to_bytes({"x": x, "y": y}))
    with pytest.raises(TypeError):
        weir.PortableGraph()
    for wrong, error, words in (
        (("z", x), weir.InvalidArgumentError, "no memory 'z'"),
        (("x", x[:8]), weir.InvalidArgumentError, "needs 256 bytes"),
        (("x", np.zeros(64)), TypeError, "from_dlpack"),
        (("x", x, 1), TypeError, "a Buffer takes no further arguments"),
        (("report", print), weir.InvalidArgumentError, "no host function 'report'"),
    ):
        with pytest.raises(error, match=words):
            loaded.bind(*wrong)


def test_arguments_that_are_buffers_are_addresses(memory):
    stream, x, *_ = memory
    kernel = weir.compile(SOURCE)["scale"]

    def save(x_argument, of=kernel):
        with weir.capture(stream, portable=True) as captured:
            weir.launch(stream, ROW, of, np.int32(64), weir.float32(2), x_argument)
        return captured.graph.to_bytes({"x": x})

    saved = save(x)
    assert save(x, scale) == saved and save(x.handle, scale) == saved
    assert save(ctypes.c_void_p(x.handle), scale) == saved
    # Without a signature a number of 8 bytes may or may not be an address.
    for untyped in (x.handle, np.uint64(x.handle), ctypes.c_void_p(x.handle)):
        with pytest.raises(weir.UnsupportedError, match=r"kernel 'scale'.*argument 3"):
            save(untyped)
    with pytest.raises(weir.UnsupportedError, match="argument 3"):
        save(weir.uint64(x.handle))


def test_what_save_refuses(memory, tmp_path):
    stream, x, y, _ = memory
    with weir.capture(stream) as captured:
        y.copy_from(x)
    with pytest.raises(weir.UnsupportedError, match="not captured as portable"):
        captured.graph.to_bytes({"x": x, "y": y})
    with weir.capture(stream, portable=True) as captured:
        y.copy_from(x)
    with pytest.raises(weir.InvalidArgumentError, match="is not in the named memory"):
        captured.graph.to_bytes({"x": x})
    with pytest.raises(TypeError, match="weir.Buffer"):
        captured.graph.to_bytes({"x": x, "y": np.zeros(4)})
    with pytest.raises(FileNotFoundError):
        captured.graph.save(tmp_path / "nosuch" / "file", {"x": x, "y": y})
    with pytest.raises(weir.InvalidImageError):
        stream.device.load_graph(b"no graph")
    file = tmp_path / "step.weirgraph"
    captured.graph.save(os.fsencode(file), {"x": x, "y": y})
    file.chmod(0o666)
    with pytest.raises(weir.InvalidImageError, match="can be changed by others"):
        stream.device.load_graph(file)


def test_graphs_built_by_hand_are_saved(memory):
    stream, x, y, _ = memory
    builder = weir.GraphBuilder(stream.device, portable=True)
    first = builder.add([], lambda on: x.fill(2))
    builder.add([first], lambda on: weir.launch(on, ROW, scale, 64, 5, x))
    loaded = stream.device.load_graph(builder.finish().to_bytes({"x": x}))
    loaded.bind("x", y)
    loaded.build().launch()
    assert (y.get() == 10).all()


def test_functions_travel_by_name(memory):
    stream, x, y, _ = memory
    seen = []

    def report():
        seen.append(("report", bytes(4)))

    with weir.capture(stream, portable=True) as captured:
        y.copy_from(x)
        stream.launch_host_func(report)
        stream.launch_host_func(seen.append, "here", name="append")
        stream.launch_host_func(report)  # the same call again
    graph = captured.graph
    graph.launch()
    stream.sync()
    assert [entry if isinstance(entry, str) else entry[0] for entry in seen] == ["report", "here", "report"]

    loaded = stream.device.load_graph(graph.to_bytes({"x": x, "y": y}))
    name = report.__qualname__
    assert sorted(loaded.host_functions) == sorted(["append", name])
    with pytest.raises(weir.InvalidArgumentError, match="host function 'append'"):
        loaded.build()
    seen.clear()
    for target, buffer in (("x", x), ("y", y)):
        loaded.bind(target, buffer)
    loaded.bind(name, seen.append, 1)
    loaded.bind("append", seen.append, 2)
    again = loaded.build()
    for _ in range(3):
        again.launch()
    stream.sync()
    assert seen == [1, 2, 1] * 3


def test_what_a_bound_function_raises_and_owns(memory):
    stream, *_ = memory

    class Thing:
        def fail(self):
            raise ValueError("bound")

    with weir.capture(stream, portable=True) as captured:
        stream.launch_host_func(print, name="f")
    loaded = stream.device.load_graph(captured.graph.to_bytes())
    thing = Thing()
    dropped = weakref.ref(thing)
    loaded.bind("f", thing.fail)
    del thing
    graph = loaded.build()
    graph.launch()
    with pytest.raises(ValueError, match="bound"):
        stream.sync()
    assert dropped() is not None
    del graph, loaded
    gc.collect()
    for _ in range(1000):
        if dropped() is None:
            break
        time.sleep(0.01)
    assert dropped() is None


def test_one_name_stands_for_one_function(memory):
    stream, *_ = memory
    with weir.capture(stream, portable=True):
        stream.launch_host_func(lambda: None)
        with pytest.raises(ValueError, match="stands for another function"):
            stream.launch_host_func(lambda: None)
        stream.launch_host_func(print, 1)
        with pytest.raises(ValueError, match="name=…"):
            stream.launch_host_func(print, 2)
        stream.launch_host_func(print, 2, name="print 2")
    with weir.capture(stream):  # not portable
        stream.launch_host_func(print, 1)
        stream.launch_host_func(print, 2)
    with weir.capture(stream, portable=True) as captured:
        stream.launch_host_func(print, name="")
    with pytest.raises(weir.UnsupportedError, match="function has no name"):
        captured.graph.to_bytes()
    builder = weir.GraphBuilder(stream.device, portable=True)
    builder.add([], lambda on: on.launch_host_func(print, name="p"))
    assert stream.device.load_graph(builder.finish().to_bytes()).host_functions == ["p"]


def test_a_file_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        weir.Device().load_graph(tmp_path / "nothing.weirgraph")
    assert caught.value.filename == tmp_path / "nothing.weirgraph"
