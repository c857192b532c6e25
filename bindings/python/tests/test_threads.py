# SPDX-License-Identifier: Apache-2.0
"""Tests eight threads that share objects. In free-threaded Python they run in parallel."""

import gc
import os
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest

import weir

THREADS, ROUNDS, COUNT = 8, 30, 64
ADD = """extern "C" __global__ void add(int n, int value, int* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += value; }"""


@pytest.fixture(autouse=True)
def often_another_thread():
    """Makes threads interleave often with the GIL, too."""
    former = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(former)


def together(*works):
    """Calls them concurrently, each with its thread's number, the last one on all remaining threads. Raises what one raises."""
    barrier = threading.Barrier(THREADS)
    errors = []

    def run(work, i):
        try:
            barrier.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(works[min(i, len(works) - 1)], i)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this interpreter has its lock always")
def test_the_import_leaves_the_lock_off():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    code = "import sys, weir; weir.Device().create_stream().sync(); print(sys._is_gil_enabled())"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_stream(device):
    stream = device.create_stream()
    x, y = (device.allocate((THREADS, COUNT), weir.int32) for _ in range(2))
    x.fill(0, stream=stream)

    def work(i):
        for value in range(i, i + ROUNDS):
            x[i : i + 1].fill(value, stream=stream)
            y[i : i + 1].copy_from(x[i : i + 1], stream=stream)
            event = stream.record()
            stream.wait(event)
            event.sync()
            assert (y[i : i + 1].get(stream=stream) == value).all()
            assert stream == weir.Stream.wrap(stream) and not stream.is_closed and "Stream" in repr(stream)

    together(work)
    assert (x.get(stream=stream)[:, 0] == np.arange(THREADS) + ROUNDS - 1).all()


def test_the_first_launch_of_a_kernel(device):
    for _ in range(5):
        kernel = weir.KernelFunction(ADD, "add", (weir.int32, weir.int32, weir.ptr[weir.int32]))
        x = device.allocate((THREADS, COUNT), weir.int32)
        x.fill(1, stream=device.default_stream)
        device.sync()
        compiled = [None] * THREADS

        def work(i):
            with device.create_stream() as stream:
                weir.launch(stream, weir.grid_for(COUNT), kernel, COUNT, i, x[i : i + 1])
                stream.sync()
            compiled[i] = kernel.on(device)

        together(work)
        assert len({one.handle for one in compiled}) == 1
        assert (x.get() == 1 + np.arange(THREADS)[:, None]).all()


def test_a_graph_is_launched_while_it_is_updated(device):
    x = device.allocate(COUNT, weir.int32, kind="pinned")
    stream = device.create_stream()
    calls = []

    def capture(value):
        with weir.capture(device.create_stream()) as captured:
            x.fill(value)
            captured.stream.launch_host_func(calls.append, value)
        return captured.graph

    graph = capture(0)

    def update(i):
        for value in range(1, ROUNDS + 1):
            graph.update(capture(value))
            assert graph.nodes[0] == "fill" and graph.device == device

    def launch(i):
        own = device.create_stream()
        for _ in range(ROUNDS):
            graph.launch(own)
            graph.launch(stream)
        own.sync()

    together(update, launch)
    stream.sync()
    assert len(calls) == 2 * ROUNDS * (THREADS - 1) and set(calls) <= set(range(ROUNDS + 1))
    graph.launch(stream)
    stream.sync()
    assert calls[-1] == ROUNDS and (np.asarray(x) == ROUNDS).all()


def test_a_buffer_goes_out_and_in_by_dlpack():
    device = weir.Device("host")
    x = device.allocate((THREADS, COUNT), weir.int32, kind="pinned")
    rows = np.zeros((THREADS, COUNT), np.int32)

    def work(i):
        for value in range(ROUNDS):
            np.from_dlpack(x)[i] = value
            theirs = weir.from_dlpack(rows)
            theirs[i : i + 1].copy_from(x[i : i + 1])
            device.default_stream.sync()
            assert (rows[i] == value).all() and memoryview(x)[i, 0] == value
            del theirs

    together(work)
    assert (np.asarray(x) == ROUNDS - 1).all()


def test_one_thread_takes_a_capsule():
    device = weir.Device("host")
    capsules = [device.allocate(COUNT).__dlpack__(max_version=(1, 0)) for _ in range(50 * ROUNDS)]
    taken, refused = [], []

    def work(i):
        for number, capsule in enumerate(capsules):
            try:
                taken.append((number, weir.from_dlpack(capsule)))
            except ValueError as error:
                refused.append(error)

    together(work)
    assert sorted(number for number, _ in taken) == list(range(len(capsules)))
    assert len(refused) == (THREADS - 1) * len(capsules)


def test_functions_of_one_stream(device):
    stream = device.create_stream()
    seen = []

    def work(i):
        for n in range(100):
            stream.launch_host_func(lambda *call: seen.append(call), i, n)
            if n % 40 == 39:
                stream.sync()

    together(work)
    stream.sync()
    assert len(seen) == 100 * THREADS
    for i in range(THREADS):
        assert [n for thread, n in seen if thread == i] == list(range(100))


def test_each_exception_is_told_once(device, monkeypatch):
    """Either one thread's `sync` raises the exception, or sys.unraisablehook gets it."""
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_value.args[0]))

    def fail(*call):
        raise ValueError(call)

    def work(i):
        stream = device.default_stream  # each thread has its own object over one native stream
        for n in range(ROUNDS):
            stream.launch_host_func(fail, i, n)
            try:
                stream.sync()
            except ValueError as error:
                told.append(error.args[0])

    together(work)
    assert sorted(told) == [(i, n) for i in range(THREADS) for n in range(ROUNDS)]


def test_objects_come_and_go_while_cycles_are_collected(device, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(str(unraisable.exc_value)))

    class Worker:
        def __init__(self):
            self.stream = device.create_stream()
            self.ran = threading.Event()

        def fail(self):
            self.ran.set()
            raise ValueError("nobody waits")

    def collect(i):
        for _ in range(ROUNDS):
            gc.collect()

    def work(i):
        for n in range(ROUNDS):
            worker = Worker()
            worker.stream.launch_host_func(worker.fail)
            kept = weir.from_dlpack(np.full(COUNT, n, np.int32))
            x = device.allocate(COUNT, weir.int32).copy_from(kept, stream=worker.stream)
            other = device.create_stream()  # its `sync` raises no exception of `fail`
            other.wait(worker.stream)
            assert (x.get(stream=other) == n).all() and x[1:].size == len(x) - 1
            worker.ran.wait()
            worker.me = worker

    together(collect, work)
    for _ in range(200):
        gc.collect()
        if len(told) == ROUNDS * (THREADS - 1):
            break
        threading.Event().wait(0.02)
    assert told == ["nobody waits"] * (ROUNDS * (THREADS - 1))


def test_the_current_stream_is_a_threads_own(device):
    def work(i):
        for _ in range(ROUNDS):
            outer = weir.get_current_stream(device)
            with device.create_stream() as one, device.create_stream() as two:
                assert weir.get_current_stream(device) == two != one
            assert weir.get_current_stream(device) == outer

    with device.create_stream() as stream:
        seen = []
        thread = threading.Thread(target=lambda: seen.append(weir.get_current_stream(device)))
        thread.start()
        thread.join()
        inherits = getattr(sys.flags, "thread_inherit_context", 0)
        assert seen == [stream if inherits else device.default_stream]
        together(work)
        assert weir.get_current_stream(device) == stream
