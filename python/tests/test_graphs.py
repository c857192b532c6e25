# SPDX-License-Identifier: Apache-2.0
import gc
import threading

import pytest

import weir


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


def test_updates_beside_launches():
    device = weir.Device()
    graph = graph_of(device, int)
    ended = threading.Event()

    def update():
        while not ended.is_set():
            graph.update(graph_of(device, int))

    thread = threading.Thread(target=update)
    thread.start()
    try:
        stream = device.create_stream()
        for _ in range(300):
            graph.launch(stream)
            assert graph.nodes
        stream.sync(timeout=60)
    finally:
        ended.set()
        thread.join()


ADD = 'extern "C" __global__ void add(int value, int* x) { x[threadIdx.x] += value; }'
ONE = weir.LaunchConfig(1, 1)


@weir.kernel(ADD)
def add(value: weir.int32, x: weir.ptr[weir.int32]) -> None: ...


@pytest.fixture
def cells():
    """A stream, which is the current one, and three numbers in memory, which are 0."""
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
    with pytest.raises(weir.NotCapturingError):
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
    assert captured.graph.nodes == ["conditional"] * 3
    for value, expected in ((0, (2, 0, 10)), (1, (1, 3, 20)), (2, (1, 3, 20))):
        which.fill(value)
        captured.graph.launch()
        assert (x.get(), y.get(), z.get()) == expected
    with pytest.raises(TypeError, match="uint32"), weir.capture() as captured:
        captured.stream.capture_while(x, lambda on: None)
