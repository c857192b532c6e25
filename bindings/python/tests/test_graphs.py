# SPDX-License-Identifier: Apache-2.0
"""Tests captures and graphs."""

import gc
import os
import subprocess
import sys
import textwrap

import pytest

import weir


def run_on_stand_in(code, script=""):
    """Runs the code with a stand-in for CUDA's driver, which follows `script` (tests/drivers/script.hpp)."""
    driver = os.environ.get("WEIR_TEST_FAKE_CUDA", "")
    if not os.path.exists(driver):
        pytest.skip("there is no stand-in for CUDA's driver")
    command = [sys.executable, "-c", "import threading\nimport weir\n" + textwrap.dedent(code)]
    environment = {**os.environ, "WEIR_CUDA_DRIVER": driver, "WEIR_TEST_DRIVER": script}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "expression, call",
    [
        ("captured.stream.last_captured_node", 2),  # nothing was captured, which is an error
        ("weir.Stream.wrap(captured.stream.handle, device).is_nonblocking", 4),  # not known of a stream wrapped in a capture
    ],
)
def test_questions_about_a_capture_release_the_gil(expression, call):
    """The driver may wait for a lock whose owner waits for work, and that work for a function in Python."""
    run_on_stand_in(
        f"""
        import contextlib, sys, time
        device = weir.Device("cuda:0")
        asked = threading.Event()
        thread = threading.Thread(target=lambda: (asked.wait(), device.create_event()))
        thread.start()
        begin = time.monotonic()
        with weir.capture(device.create_stream()) as captured:
            sys.setswitchinterval(60)  # the thread gets the GIL only if this one releases it
            asked.set()
            with contextlib.suppress(weir.Error):
                {expression}
        thread.join()
        assert time.monotonic() - begin < 20
        """,
        f"hold=cuStreamGetCaptureInfo:{call}:cuEventCreate:1",
    )


def graph_of(device, function):
    with weir.capture(device.create_stream()) as captured:
        captured.stream.launch_host_func(function)
    return captured.graph


def test_an_update_brings_the_functions_of_its_source():
    def fail():
        raise ValueError("second")

    device = weir.Device()
    stream = device.create_stream()
    seen = []
    graph = graph_of(device, lambda: seen.append("first"))
    graph.launch(stream)
    stream.sync()
    graph.update(graph_of(device, fail))
    graph.launch(stream)
    with pytest.raises(ValueError, match="second"):
        stream.sync()
    assert seen == ["first"]


def test_functions_belong_to_one_executable():
    """Two executables that share functions could run at once, and each would continue when the other's function returns."""
    device = weir.Device()
    stream = device.create_stream()
    graph, source, other, third, launched = (graph_of(device, int) for _ in range(5))
    launched.launch(stream)
    with pytest.raises(weir.GraphUpdateFailedError, match="launched"):
        graph.update(launched)
    graph.update(source)
    for call in (source.launch, source.upload, lambda stream: source.update(other)):
        with pytest.raises(weir.InvalidArgumentError, match="another"):
            call(stream)
    with pytest.raises(weir.GraphUpdateFailedError, match="another"):
        third.update(source)
    graph.update(other)
    graph.update(source)  # its own
    graph.launch(stream)
    launched.launch(stream)
    stream.sync(timeout=60)


def test_an_update_that_fails_takes_no_functions(cells):
    stream, x, *_ = cells
    source = graph_of(stream.device, int)
    with weir.capture() as captured:
        captured.stream.launch_host_func(int)
        x.fill(1)
    with pytest.raises(weir.GraphUpdateFailedError):
        captured.graph.update(source)
    source.launch()
    stream.sync(timeout=60)


@pytest.mark.parametrize("end", ["end_capture", "discard_capture"])
def test_a_refused_end_of_a_capture_loses_no_exceptions(end):
    stream, joined = (weir.Device().create_stream() for _ in range(2))
    stream.begin_capture()
    stream.launch_host_func(lambda: 1 / 0)
    joined.wait(stream)
    with pytest.raises(weir.CaptureError):
        getattr(joined, end)()
    stream.wait(joined)
    stream.end_capture().launch(stream)
    with pytest.raises(ZeroDivisionError):
        stream.sync()


def test_captures_of_two_backends_at_once():
    """Each backend counts its captures from 1."""
    run_on_stand_in(
        """
        streams = [weir.Device(name).create_stream() for name in ("cuda:0", "host:0")]
        for stream in streams:
            stream.begin_capture()
            stream.launch_host_func(lambda: 1 / 0)
        *_, graph = (stream.end_capture() for stream in streams)
        graph.launch(stream)
        try:
            stream.sync()
            raise SystemExit("no error")
        except ZeroDivisionError:
            pass
        """
    )


@pytest.mark.parametrize(
    "held, call",
    [
        ("cuGraphConditionalHandleCreate", "stream.capture_if(word, use)"),
        ("cuGraphConditionalHandleCreate", "stream.capture_while(word, use)"),
        ("cuStreamUpdateCaptureDependencies", "weir.GraphBuilder(device).add([], use)"),  # the stand-in does not know its node
    ],
)
def test_captures_of_parts_let_go_of_the_lock(held, call):
    run_on_stand_in(
        f"""
        device = weir.Device("cuda:0")
        stream = device.create_stream()
        word, other = device.allocate(1, "uint32"), device.allocate(1, "uint32")
        used = []
        def use(on):
            other.copy_from(word)
            used.append(on)
        stream.begin_capture()
        threading.Timer(0.2, lambda: device.allocate(1, kind="managed")).start()
        try:
            {call}
        except weir.InvalidArgumentError as error:
            assert "last_captured_node" in str(error), error
        assert used
        """,
        f"hold={held}:1:cuMemAllocManaged:1",
    )


ADD = 'extern "C" __global__ void add(int value, int* x) { x[threadIdx.x] += value; }'
ONE = weir.LaunchConfig(1, 1)


@weir.kernel(ADD)
def add(value: weir.int32, x: weir.ptr[weir.int32]) -> None: ...


@pytest.fixture
def cells():
    """The current stream, and three numbers in memory, all 0."""
    device = weir.Device()
    with device.create_stream() as stream:
        buffers = [device.allocate(1, weir.int32) for _ in range(3)]
        for buffer in buffers:
            buffer.fill(0)
        yield stream, *buffers


def test_changes_of_nodes(cells):
    stream, x, y, z = cells
    nodes = []
    with weir.capture(stream) as captured:
        for enqueue in (
            lambda: x.fill(1),
            lambda: y.copy_from(x),
            lambda: weir.launch(stream, ONE, add, 10, y),
        ):
            enqueue()
            nodes.append(stream.last_captured_node)
        assert stream.is_capturing
    assert not stream.is_capturing
    fill, copy, kernel = nodes
    graph = captured.graph
    graph.launch()
    assert (x.get(), y.get()) == ([1], [11])

    changes = weir.GraphChanges(stream.device)
    changes.fill(fill, x, 2)
    changes.copy(copy, z, x)
    changes.launch(kernel, ONE, add, 20, z)
    assert len(changes) == 3
    graph.apply(changes)
    graph.launch()
    assert (x.get(), y.get(), z.get()) == ([2], [11], [22])

    changes.clear()
    changes.disable(kernel)
    graph.apply(changes)
    graph.launch()
    assert z.get() == [2]
    changes.clear()
    changes.enable(kernel)
    graph.apply(changes)
    graph.launch()
    assert z.get() == [22]


def test_changes_that_are_refused_change_nothing(cells):
    stream, x, y, z = cells
    with weir.capture(stream) as captured:
        weir.launch(stream, ONE, add, 1, x)
    graph = captured.graph
    for wrong in (
        lambda changes: changes.launch(1, ONE, add, 1, y),
        lambda changes: changes.fill(0, y, 1),
    ):
        changes = weir.GraphChanges()
        changes.launch(0, ONE, add, 5, y)
        wrong(changes)
        with pytest.raises(weir.GraphUpdateFailedError):
            graph.apply(changes)
    changes = weir.GraphChanges()
    with pytest.raises(TypeError):
        changes.launch(0, ONE, add, 1)
    with pytest.raises(ValueError):
        changes.fill(0, y, 1 << 40)
    with pytest.raises(TypeError, match="1, 2 or 4"):
        changes.fill(0, stream.device.allocate(1, weir.float64), 1)
    assert len(changes) == 0
    graph.launch()
    assert (x.get(), y.get()) == ([1], [0])
    with pytest.raises(weir.CaptureError):
        stream.last_captured_node


def test_changes_keep_their_kernels(cells):
    stream, x, *_ = cells
    with weir.capture(stream) as captured:
        weir.launch(stream, ONE, add, 1, x)
    changes = weir.GraphChanges()
    changes.launch(0, ONE, weir.compile(ADD, name="of_its_own.cu")["add"], weir.int32(7), x)
    gc.collect()
    captured.graph.apply(changes)
    del changes
    captured.graph.launch()
    assert x.get() == [7]


def test_graphs_that_are_built_by_hand(cells):
    stream, x, y, z = cells
    seen = []
    builder = weir.GraphBuilder(stream.device)

    def count(on):
        assert weir.get_current_stream(stream.device) == on != stream
        on.launch_host_func(seen.append, 1)

    a = builder.add([], lambda on: x.fill(4))
    b = builder.add([], count)
    c = builder.add((a, b), lambda on: weir.launch(on, ONE, add, 1, x))
    for wrong in (lambda: builder.add([9], lambda on: x.fill(1)), lambda: builder.add([], lambda on: None)):
        with pytest.raises(weir.InvalidArgumentError):
            wrong()
    graph = builder.finish()
    with pytest.raises(ValueError, match="another"):
        builder.finish()
    assert (graph.nodes[a], graph.nodes[c]) == ("fill", "kernel") and {(a, c), (b, c)} <= set(graph.edges)
    graph.launch()
    assert x.get() == [5] and seen == [1]


def test_what_a_built_node_raises(cells):
    stream, x, *_ = cells
    builder = weir.GraphBuilder(stream.device)
    with pytest.raises(ZeroDivisionError):
        builder.add([], lambda on: 1 // 0)
    assert weir.get_current_stream(stream.device) == stream


def test_bodies_of_conditional_nodes(cells):
    stream, x, y, z = cells
    which = stream.device.allocate(1, weir.uint32)
    with weir.capture(stream) as captured:
        stream.capture_if(which, lambda on: x.fill(1), lambda on: x.fill(2))
        stream.capture_if(which, lambda on: y.fill(3))
        stream.capture_switch(which, [lambda on, value=value: z.fill(value) for value in (10, 20)])
    assert captured.graph.nodes.count("conditional") == 3  # on a GPU, a kernel that reads the condition precedes each
    for value, expected in ((0, (2, 0, 10)), (1, (1, 3, 20)), (2, (1, 3, 20))):
        which.fill(value)
        captured.graph.launch()
        assert (x.get(), y.get(), z.get()) == expected
    with pytest.raises(TypeError, match="uint32"), weir.capture() as captured:
        captured.stream.capture_while(x, lambda on: None)
