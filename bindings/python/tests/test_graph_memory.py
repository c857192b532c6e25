# SPDX-License-Identifier: Apache-2.0
"""Tests that graphs keep the buffers and arrays that they use alive."""
import gc
import time

import pytest

import weir

ADD = 'extern "C" __global__ void add(int value, int* x) { x[threadIdx.x] += value; }'
ONE = weir.LaunchConfig(1, 1)


@weir.kernel(ADD)
def add(value: weir.int32, x: weir.ptr[weir.int32]) -> None: ...


class Watch:
    """Makes buffers, and counts those whose memory a Buffer still has: the garbage collector lists all of them."""

    def __init__(self, device):
        self.device = device
        self.seen = set()

    def __call__(self, dtype=weir.int32, kind="device"):
        buffer = self.device.allocate(2, dtype, kind=kind)
        self.seen.add(buffer.handle)
        return buffer

    @property
    def alive(self):
        gc.collect()
        return len(self.seen & {one.handle for one in gc.get_objects() if type(one) is weir.Buffer and not one.is_closed})


@pytest.fixture
def stream():
    with weir.Device().create_stream() as stream:
        yield stream


@pytest.fixture
def new(stream):
    return Watch(stream.device)


def wait_for_another(stream, new):
    other = stream.device.create_stream()
    other.wait(stream)
    new().fill(1, stream=other)
    stream.wait(other)


USES = {
    "kernel": lambda stream, new: weir.launch(stream, ONE, add, 1, new()),
    "kernel, as CuPy": lambda stream, new: add(1, 1, (1, new())),
    "copy_from": lambda stream, new: new().copy_from(new()),
    "copy_to": lambda stream, new: new().copy_to(new()),
    "copy_batch": lambda stream, new: stream.copy_batch([(new(), new()), (new(), new())]),
    "fill": lambda stream, new: new().fill(3),
    "write_value": lambda stream, new: stream.write_value(new(weir.uint32), 1),
    "batch": lambda stream, new: stream.batch_memory_operations([weir.MemoryOperation.write(new(weir.uint32), 1)]),
    "another stream": wait_for_another,
}


def if_else(stream, new):
    x, y = new(), new()
    stream.capture_if(new(weir.uint32), lambda on: x.fill(1), lambda on: y.fill(2))


def body_of_a_body(stream, new):
    x, which = new(), new(weir.uint32)
    stream.capture_switch(new(weir.uint32), [lambda on: on.capture_if(which, lambda inner: x.fill(1))])


NODES = {"if": if_else, "body of a body": body_of_a_body}


@pytest.mark.parametrize("use", [*USES, *NODES])
def test_a_graph_keeps(use, stream, new):
    try:
        with weir.capture(stream) as captured:
            {**USES, **NODES}[use](stream, new)
    except weir.UnsupportedError as error:
        pytest.skip(str(error))
    assert new.alive == len(new.seen) > 0
    captured.graph.launch()
    stream.sync()
    del captured
    assert new.alive == 0


@pytest.mark.parametrize("use", USES)
def test_work_that_is_not_captured_keeps_nothing(use, stream, new):
    other = stream.device.create_stream()
    other.begin_capture()
    try:
        USES[use](stream, new)
    except weir.UnsupportedError as error:
        pytest.skip(str(error))
    finally:
        other.discard_capture()
    stream.sync()
    assert new.alive == 0


def test_memory_of_a_graph_that_nothing_else_owns_is_right(stream):
    result = stream.device.allocate(1, weir.int32)
    with weir.capture(stream) as captured:
        x = stream.device.allocate(1, weir.int32)
        x.fill(5)
        weir.launch(stream, ONE, add, 1, x)
        result.copy_from(x)
        del x
    others = [stream.device.allocate(1, weir.int32) for _ in range(100)]  # would reuse the memory
    for other in others:
        other.fill(9)
    captured.graph.launch()
    assert result.get() == [6]
    assert all(other.get() == [9] for other in others)


class Tensor:
    """Has the attributes of a PyTorch tensor that a launch reads."""

    is_cuda = True

    def __init__(self, buffer):
        self.buffer = buffer

    def data_ptr(self):
        return self.buffer.handle


def test_arrays_of_other_libraries(stream, new):
    array = Tensor(new())
    with weir.capture(stream) as captured:
        weir.launch(stream, ONE, add, 1, array)
    del array
    assert new.alive == 1
    del captured
    assert new.alive == 0


def test_an_array_whose_object_owns_the_graph(stream, new):
    array = Tensor(new())
    with weir.capture(stream) as captured:
        weir.launch(stream, ONE, add, 1, array)
    array.graph = captured.graph
    del array, captured
    assert new.alive == 0


def test_a_capture_that_is_dropped(stream, new):
    with pytest.raises(ZeroDivisionError), weir.capture(stream):
        new().fill(1)
        1 // 0
    assert new.alive == 0
    builder = weir.GraphBuilder(stream.device)
    builder.add([], lambda on: new().fill(1))
    assert new.alive == 1
    del builder
    assert new.alive == 0


@pytest.mark.parametrize("has_function", [False, True])
@pytest.mark.parametrize("closes", [False, True])
def test_a_stream_that_goes_while_it_captures(stream, new, has_function, closes):
    origin = stream.device.create_stream()
    if has_function:
        origin.launch_host_func(int)
        origin.sync()
    origin.begin_capture()
    forked = stream.device.create_stream()
    forked.wait(origin)
    new().fill(1, stream=origin)
    del forked
    assert new.alive == 1
    if closes:
        origin.close()
    else:
        del origin
    assert new.alive == 0


def test_graphs_that_are_built_by_hand(stream, new):
    builder = weir.GraphBuilder(stream.device)
    first = builder.add([], lambda on: new().fill(1))
    builder.add([first], lambda on: weir.launch(on, ONE, add, 1, new()))
    graph = builder.finish()
    del builder
    assert new.alive == 2
    graph.launch()
    stream.sync()
    del graph
    assert new.alive == 0


def test_a_part_of_another_graph(stream, new):
    with weir.capture(stream) as part:
        new().fill(1)
    with weir.capture(stream) as whole:
        part.graph.launch(stream)
    del part
    assert new.alive == 1
    whole.graph.launch()
    stream.sync()
    del whole
    assert new.alive == 0


def test_updates_and_changes(stream, new):
    def graph():
        with weir.capture(stream) as captured:
            weir.launch(stream, ONE, add, 1, new())
        return captured.graph

    changed = graph()
    changes = weir.GraphChanges(stream.device)
    for _ in range(3):
        changes.clear()
        changes.launch(0, ONE, add, 1, new())
        changed.apply(changes)
        assert new.alive == 2  # the captured buffer, which an update would restore, and the one used now
    del changes
    assert new.alive == 2
    changed.launch()
    changed.update(graph())
    assert new.alive == 1
    changed.launch()
    stream.sync()
    del changed
    assert new.alive == 0


def test_graphs_of_files(stream, new):
    with weir.capture(stream, portable=True) as captured:
        x = new()
        x.fill(1)
    file = stream.device.load_graph(captured.graph.to_bytes({"x": x}))
    del captured, x
    assert new.alive == 0
    file.bind("x", new())
    graph = file.build()
    file.bind("x", new())
    assert new.alive == 2
    del file
    assert new.alive == 1
    graph.launch()
    stream.sync()
    del graph
    assert new.alive == 0


def test_buffers_of_batches_that_an_iterator_makes(stream):
    device = stream.device
    x, y = device.allocate(4, weir.uint32), device.allocate(4, weir.uint32)
    x.fill(7)
    stream.copy_batch((y[i : i + 1], x[i : i + 1]) for i in range(4))
    assert (y.get() == 7).all()


def test_a_capture_costs_as_much_for_each_operation(stream):
    x = stream.device.allocate(4)

    def seconds(count):
        begin = time.perf_counter()
        with weir.capture(stream):
            for _ in range(count):
                x.fill(1)
        return time.perf_counter() - begin

    seconds(100)
    assert seconds(8000) < 40 * seconds(800)


def test_memory_that_a_graph_allocates_is_freed_in_the_graph(stream):
    if not stream.device.supports("async_allocation"):
        pytest.skip("no memory in the order of streams")
    with weir.capture(stream) as captured:
        x = stream.allocate(1, weir.int32)
        x[0:1].fill(1)
        del x
    assert captured.graph.nodes == ["allocate", "fill", "free"]
    for _ in range(2):
        captured.graph.launch()
    stream.sync()
