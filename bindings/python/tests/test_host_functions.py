# SPDX-License-Identifier: Apache-2.0
"""Tests host functions and callbacks in Python."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
import traceback
import weakref

import pytest

import weir


def test_runs_in_the_streams_order(stream):
    ones = stream.device.allocate(4, kind="pinned").copy_from(bytes([1] * 4), stream=stream)
    target = stream.device.allocate(4, kind="pinned").copy_from(bytes(4), stream=stream)
    seen = []
    target.copy_from(ones, stream=stream)
    stream.launch_host_func(lambda *arguments: seen.append((arguments, bytes(memoryview(target)))), 1, "two")
    stream.sync()
    assert seen == [((1, "two"), bytes([1] * 4))]


def test_later_work_waits(stream):
    gate = threading.Event()
    after = stream.device.allocate(4, kind="pinned").copy_from(bytes(4), stream=stream)
    ones = stream.device.allocate(4).copy_from(bytes([1] * 4), stream=stream)
    stream.launch_host_func(gate.wait)
    after.copy_from(ones, stream=stream)
    event = stream.record()
    time.sleep(0.05)
    assert not event.is_done
    with pytest.raises(TimeoutError):
        stream.sync(timeout=0.01)
    with pytest.raises(TimeoutError):
        stream.device.sync(timeout=0.01)
    gate.set()
    event.sync(timeout=10)
    stream.device.sync(timeout=10)
    assert bytes(after.get(stream=stream)) == bytes([1] * 4)


def test_exceptions_are_the_next_syncs(stream):
    def fail():
        raise ValueError("no")

    stream.launch_host_func(fail)
    ran = []
    stream.launch_host_func(ran.append, 1)
    with pytest.raises(ValueError, match="no") as caught:
        stream.sync()
    assert ran == [1]
    assert "in fail" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert "host function" in caught.value.__notes__[0]
    stream.sync()


@pytest.mark.parametrize("close", [True, False])
def test_exceptions_that_nobody_waits_for_are_reported(stream, close, monkeypatch):
    reported = threading.Event()
    seen = []

    def hook(unraisable):
        seen.append(repr(unraisable.exc_value))
        reported.set()

    monkeypatch.setattr(sys, "unraisablehook", hook)
    ran = threading.Event()

    def fail():
        ran.set()
        raise ValueError("nobody waits")

    other = stream.device.create_stream()
    other.launch_host_func(fail)
    assert ran.wait(10)
    assert not reported.wait(0.3)  # another call could still wait for the stream and raise the exception
    if close:
        other.close()
    else:
        del other
    assert reported.wait(10)
    assert seen == ["ValueError('nobody waits')"]


@pytest.mark.parametrize("cycle", ["traceback", "arguments"])
def test_exceptions_that_own_their_stream_are_reported(cycle, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(str(unraisable.exc_value)))

    class Worker:
        def __init__(self):
            self.stream = weir.Device().create_stream()
            self.ran = threading.Event()

        def fail(self):
            self.ran.set()
            raise ValueError("nobody waits", *[self][: cycle == "arguments"])

    worker = Worker()
    worker.stream.launch_host_func(worker.fail)
    ran = worker.ran
    assert ran.wait(10)
    time.sleep(0.05)
    gc.collect()
    assert not seen
    with pytest.raises(ValueError):
        worker.stream.sync()
    ran.clear()
    worker.stream.launch_host_func(worker.fail)
    assert ran.wait(10)
    time.sleep(0.05)
    gone = weakref.ref(worker)
    del worker
    gc.collect()
    for _ in range(1000):
        if gone() is None:
            break
        time.sleep(0.01)
    assert len(seen) == 1 and "nobody waits" in seen[0] and gone() is None


def test_exceptions_that_another_object_of_the_stream_can_raise_are_kept(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    stream = weir.Device().create_stream()

    class Worker:
        def __init__(self):
            self.stream = weir.Device().default_stream
            self.ran = threading.Event()

        def fail(self):
            self.ran.set()
            raise ValueError("kept")

    worker = Worker()
    stream = weir.Device().default_stream
    assert worker.stream is not stream
    worker.stream.launch_host_func(worker.fail)
    assert worker.ran.wait(10)
    time.sleep(0.05)
    del worker
    gc.collect()
    gc.collect()
    with pytest.raises(ValueError, match="kept"):
        stream.sync()


def test_a_stream_that_is_closed_has_room_for_nothing(stream):
    word = stream.device.allocate(1, weir.uint32, kind="pinned").copy_from(bytes(4))
    stream.wait_value(word, 1)
    ended = []

    def enqueue():
        try:
            for _ in range(300):
                stream.launch_host_func(int)
        except weir.StreamClosedError as error:
            ended.append(error)

    thread = threading.Thread(target=enqueue)
    thread.start()
    time.sleep(0.1)
    stream.close()
    thread.join(10)
    waits = thread.is_alive()
    stream.device.create_stream().write_value(word, 1)
    thread.join()
    assert len(ended) == 1 and not waits


def test_may_not_wait(stream):
    for wait in (stream.sync, stream.device.sync):
        stream.launch_host_func(wait)
        with pytest.raises(weir.CalledFromHostFunctionError):
            stream.sync()


def test_streams_that_wait_for_each_others_functions():
    streams = [weir.Device().create_stream() for _ in range(5)]
    seen = []
    for i in range(500):
        stream = streams[i % 5]
        stream.wait(streams[(i - 1) % 5])
        stream.launch_host_func(seen.append, i)
    streams[499 % 5].sync()
    assert seen == list(range(500))


def test_a_function_is_called_late_and_not_early(stream):
    """The work before it takes longer than the polling thread spins."""
    other = stream.device.create_stream()
    gate = threading.Event()
    seen = []
    other.launch_host_func(gate.wait)
    stream.wait(other)
    for i in range(10):
        stream.launch_host_func(seen.append, i)
    time.sleep(0.05)
    assert seen == []
    gate.set()
    stream.sync(timeout=10)
    assert seen == list(range(10))


class Blocked:
    """A callable without a name that blocks."""

    def __init__(self):
        self.gate = threading.Event()

    def __call__(self):
        self.gate.wait()

    def wait_for_gate(self):
        self.gate.wait()


@pytest.mark.parametrize(
    "method, given, expected",
    [
        ("__call__", None, "Blocked"),
        ("wait_for_gate", None, "Blocked.wait_for_gate"),
        ("wait_for_gate", "load images", "load images"),
    ],
)
def test_pending_has_the_name_of_a_function(stream, method, given, expected):
    blocked = Blocked()
    stream.launch_host_func(blocked if method == "__call__" else getattr(blocked, method), name=given)
    try:
        deadline = time.monotonic() + 10
        while f"host function '{expected}'" not in (pending := stream.pending) and time.monotonic() < deadline:
            time.sleep(0.01)
        if stream.device.backend == "host":
            assert f"host function '{expected}'" in pending
            with pytest.raises(TimeoutError, match=expected):
                stream.sync(timeout=0.01)
    finally:
        blocked.gate.set()
    stream.sync(timeout=10)
    with pytest.raises(TypeError):
        stream.launch_host_func(print, name=1)
    with pytest.raises(TypeError):
        stream.launch_host_func(print, nosuch=1)


def test_callbacks(stream):
    called = threading.Event()
    seen = []

    def callback(*arguments):
        seen.append(arguments)
        called.set()

    stream.add_callback(callback, "x")
    assert called.wait(10)
    assert seen == [(stream, None, "x")]


def test_references_are_dropped(stream):
    class Thing:
        pass

    thing = Thing()
    before = sys.getrefcount(thing)
    for _ in range(100):
        stream.launch_host_func(lambda x: None, thing)
    stream.sync()
    for _ in range(100):
        if sys.getrefcount(thing) == before:
            break
        time.sleep(0.01)
    assert sys.getrefcount(thing) == before
    closed = stream.device.create_stream()
    closed.close()
    with pytest.raises(weir.StreamClosedError, match="launch_host_func"):
        closed.launch_host_func(lambda x: None, thing)
    time.sleep(0.05)
    assert sys.getrefcount(thing) == before


def test_in_a_graph(stream):
    calls = []
    ones = stream.device.allocate(4, kind="pinned").copy_from(bytes([1] * 4), stream=stream)
    target = stream.device.allocate(4, kind="pinned")

    def first():
        memoryview(target)[:] = bytes(4)

    with weir.capture() as captured:
        captured.stream.launch_host_func(first)
        target.copy_from(ones)
        captured.stream.launch_host_func(lambda: calls.append(bytes(memoryview(target))))
    assert calls == []
    assert "host_function" in captured.graph.nodes
    for _ in range(100):
        captured.graph.launch(stream)
    stream.sync()
    assert calls == [bytes([1] * 4)] * 100


def test_exceptions_in_a_graph(stream):
    with weir.capture() as captured:
        captured.stream.launch_host_func(lambda: 1 / 0)
    captured.graph.launch(stream)
    with pytest.raises(ZeroDivisionError):
        stream.sync()
    captured.graph.launch(stream)
    with pytest.raises(ZeroDivisionError):
        stream.sync()


def test_await(stream):
    async def main():
        event = stream.record()
        await event
        assert event.is_done
        gate = threading.Event()
        stream.launch_host_func(gate.wait)
        turns = 0

        async def count():
            nonlocal turns
            for _ in range(10):
                await asyncio.sleep(0.001)
                turns += 1
            gate.set()

        await asyncio.gather(stream_done(), count())
        assert turns == 10
        stream.launch_host_func(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await stream

    async def stream_done():
        await stream

    asyncio.run(main(), debug=True)


def test_the_current_stream_is_a_tasks_own():
    device = weir.Device()

    async def one():
        with device.create_stream() as stream:
            for _ in range(5):
                await asyncio.sleep(0)
                assert weir.get_current_stream(device) == stream

    async def main():
        await asyncio.gather(*(one() for _ in range(10)))
        assert weir.get_current_stream(device) == device.default_stream

    asyncio.run(main())


def test_the_others_of_several_exceptions_are_reported(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(str(unraisable.exc_value)))
    stream = weir.Device().create_stream()

    def fail(name):
        raise ValueError(name)

    graphs = []
    for name in ("first graph", "second graph"):
        with weir.capture(stream) as captured:
            stream.launch_host_func(fail, name)
        graphs.append(captured.graph)
    stream.launch_host_func(fail, "own")
    for graph in graphs:
        graph.launch(stream)
    with pytest.raises(ValueError, match="own"):
        stream.sync()
    stream.sync()
    assert sorted(told) == ["first graph", "second graph"]


def test_a_slow_function_delays_no_completion():
    device = weir.Device()
    slow, other = device.create_stream(), device.create_stream()
    begun, go_on = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert go_on.wait(60)

    slow.launch_host_func(wait)
    assert begun.wait(60)
    word = device.allocate(1, weir.uint32, kind="pinned")
    word.fill(0, stream=other)
    other.sync()
    called = threading.Event()

    async def complete():
        other.wait_value(word, 1)
        other.add_callback(lambda *_: called.set())
        asyncio.get_running_loop().call_later(0.05, lambda: memoryview(word).__setitem__(0, 1))
        await other

    asyncio.run(asyncio.wait_for(complete(), 30))
    assert called.wait(30)
    assert not slow.is_done
    go_on.set()
    slow.sync()


def test_an_await_of_what_is_done_stays_in_its_task():
    stream = weir.Device().create_stream()
    event = stream.record()
    stream.sync()

    async def wait():
        steps = []
        asyncio.get_running_loop().call_soon(steps.append, "another task ran")
        await event
        await stream
        assert steps == []

    asyncio.run(wait())


def test_an_exception_that_is_raised_again_has_one_note(stream):
    error = ValueError()

    def fail():
        raise error

    for _ in range(3):
        stream.launch_host_func(fail)
        with pytest.raises(ValueError):
            stream.sync()
    assert len(error.__notes__) == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_exceptions_that_end_programs_are_the_next_syncs_too(stream, kind):
    def fail():
        raise kind

    stream.launch_host_func(fail)
    with pytest.raises(kind):
        stream.sync()


def test_an_exception_is_raised_through_any_object_of_the_stream():
    stream = weir.Device().create_stream()

    def fail():
        raise ValueError("through another")

    with stream:
        weir.get_current_stream().launch_host_func(fail)  # this object is gone before the function has run
    stream.record().sync()
    gc.collect()
    with pytest.raises(ValueError, match="through another"):
        stream.sync()


def test_a_default_streams_exception_waits_for_the_next_object():
    def fail():
        raise ValueError("default")

    device = weir.Device()
    device.default_stream.launch_host_func(fail)
    device.default_stream.record().sync()
    with pytest.raises(ValueError, match="default"):
        device.default_stream.sync()


def test_two_threads_call_functions_and_callbacks():
    script = """
import os, weir
stream = weir.Device().create_stream()
stream.sync()
stream.launch_host_func(int)
stream.add_callback(lambda *arguments: None)
stream.sync()
names = [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
print(*sorted(name for name in names if name.startswith("weir")), sep=", ")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "weir callbacks, weir functions\n", done.stdout + done.stderr


def test_an_object_over_a_closed_stream_has_nothing_of_other_streams():
    device = weir.Device()
    closed = device.create_stream()
    with closed:
        closed.close()
        others = [device.create_stream() for _ in range(4)]  # one may get the handle
        again = weir.get_current_stream(device)
    for stream in (closed, again):
        with pytest.raises(weir.StreamClosedError):
            stream.launch_host_func(int)
    for stream in (*others, device.default_stream):
        stream.sync()
