# SPDX-License-Identifier: Apache-2.0
"""Runs all operations on many threads in random order, and checks the values: stress_mixture.py SECONDS [SEED [THREADS]].

Each thread has its own streams and cells. A cell is a buffer whose elements all have one value, known in the order of one
stream. A step changes cells, moves them to another stream, compares them, or drops objects while their work is pending.
Threads share pools, spare streams and kernels, and some drop objects of other threads.
"""

import asyncio
import faulthandler
import gc
import queue
import random
import sys
import threading
import time
import traceback

import numpy as np

import weir

SOURCE = r"""
extern "C" __global__ void add(unsigned n, int value, int* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
}
extern "C" __global__ void add_array(unsigned n, const int* y, int* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += y[i];
}
"""


@weir.kernel(SOURCE)
def add(n: weir.uint32, value: weir.int32, x: weir.ptr[weir.int32]) -> None: ...


@weir.kernel(SOURCE)
def add_array(n: weir.uint32, y: weir.ptr[weir.int32], x: weir.ptr[weir.int32]) -> None: ...


class Expected(Exception):
    """Raised by a host function."""


def fail():
    raise Expected


class Shared:
    def __init__(self, device):
        self.device = device
        self.spare = queue.SimpleQueue()  # streams that threads use in turn
        for _ in range(6):
            self.spare.put(device.create_stream())
        self.memory = device.create_memory_pool()
        self.dropped = queue.Queue(maxsize=200)  # objects for other threads to drop
        self.steps = 0


class Cell:
    def __init__(self, buffer, stream, value, stays):
        self.buffer, self.stream, self.value = buffer, stream, value
        self.stays = stays  # must not move to another stream, because the memory is freed in the order of this one


class Worker:
    def __init__(self, shared, seed):
        self.shared, self.device = shared, shared.device
        self.random = random.Random(seed)
        self.streams = [self.device.create_stream(nonblocking=self.random.random() < 0.7) for _ in range(3)]
        self.cells = []
        self.graphs = []  # (graph, cell, the number that a launch adds to the cell)
        self.events = []
        self.calls = [0, 0]  # host functions: enqueued and called
        self.callbacks = [0, 0]
        self.operations = [getattr(self, name) for name in dir(type(self)) if name.startswith("do_")]

    def step(self):
        self.random.choice(self.operations)()
        for items, most in ((self.cells, 12), (self.graphs, 6), (self.events, 6)):
            while len(items) > most:
                self.give_up(items.pop(self.random.randrange(len(items))))

    def give_up(self, item):
        """Drops the item here, or passes it to another thread that drops it; sometimes the item is in a reference cycle."""
        how = self.random.randrange(4)
        if how == 0:
            cycle = [item]
            cycle.append(cycle)
        elif how == 1:
            try:
                self.shared.dropped.put_nowait(item)
            except queue.Full:
                pass

    def stream(self):
        return self.random.choice(self.streams)

    def number(self):
        return self.random.randrange(-1000, 1000)

    def cell(self):
        if not self.cells or self.random.random() < 0.1:
            self.do_allocate()
        return self.random.choice(self.cells)

    def check(self, cell, numbers):
        numbers = np.asarray(numbers)
        if not (numbers == cell.value).all():
            raise AssertionError(f"expected {cell.value}, found {np.unique(numbers)[:5]} in {cell.buffer!r}")

    def again(self, call):
        while True:  # each wait raises one exception of a function
            try:
                return call()
            except Expected:
                pass

    def sync(self, stream):
        self.again(stream.sync)

    def read(self, cell):
        return self.again(lambda: cell.buffer.get(stream=cell.stream))

    # --- Cells ---------------------------------------------------------------------------------------------------------

    def do_allocate(self):
        stream, value = self.stream(), self.number()
        shape = self.random.choice([1, 7, (3, 5), 1000, (20, 30), 40_000])
        how = self.random.randrange(6)
        if how == 0:
            buffer = stream.allocate(shape, weir.int32)
        elif how == 1:
            buffer = stream.allocate(shape, weir.int32, self.shared.memory)
        elif how == 2:
            buffer = weir.from_dlpack(np.zeros(shape, np.int32)) if self.device.backend == "host" else self.device.allocate(shape, weir.int32)
        elif how == 3:
            buffer = self.device.register_host(np.zeros(shape, np.int32))
        else:
            buffer = self.device.allocate(shape, weir.int32, self.random.choice(["device", "pinned", "managed"]))
        buffer.fill(value, stream=stream)
        self.cells.append(Cell(buffer, stream, value, stays=how < 2))

    def do_fill(self):
        cell = self.cell()
        cell.value = self.number()
        cell.buffer.fill(cell.value, stream=cell.stream)

    def do_fill_halves(self):
        cell = self.cell()
        cell.value = self.number()
        half = len(cell.buffer) // 2
        cell.buffer[:half].fill(cell.value, stream=cell.stream)
        cell.buffer[half:].view(shape=cell.buffer[half:].size).fill(cell.value, stream=cell.stream)

    def do_launch(self):
        cell, value = self.cell(), self.number()
        n = cell.buffer.size
        if self.random.random() < 0.5:
            weir.launch(cell.stream, weir.grid_for(n), add, n, value, cell.buffer)
        else:
            with cell.stream:
                add.on(self.device)((n // 256 + 1,), (256,), (n, value, cell.buffer))
        cell.value += value

    def do_launch_with_temporary(self):
        cell, value = self.cell(), self.number()
        n = cell.buffer.size
        other = cell.stream.allocate(n, weir.int32)
        other.fill(value, stream=cell.stream)
        weir.launch(cell.stream, weir.grid_for(n), add_array, n, other, cell.buffer)
        cell.value += value

    def do_copy_from_numpy(self):
        cell = self.cell()
        cell.value = self.number()
        numbers = np.full(cell.buffer.shape, cell.value, np.int32)
        self.again(lambda: cell.buffer.copy_from(numbers, stream=cell.stream))

    def do_copy_cells(self):
        a, b = self.cell(), self.cell()
        if a is b or a.buffer.shape != b.buffer.shape or (b.stays and b.stream is not a.stream):
            return
        self.move(b, a.stream)
        if self.random.random() < 0.5:
            a.buffer.copy_from(b.buffer, stream=a.stream)
        else:
            a.stream.copy_batch([(a.buffer, b.buffer)])
        a.value = b.value

    def do_compare(self):
        cell = self.cell()
        self.check(cell, self.read(cell))

    def do_compare_by_copy_to(self):
        cell = self.cell()
        into = np.empty(cell.buffer.shape, np.int32)
        self.again(lambda: cell.buffer.copy_to(into, stream=cell.stream))
        self.check(cell, into)

    def do_compare_views(self):
        cell = self.cell()
        self.sync(cell.stream)
        if cell.buffer.is_host_accessible:
            self.check(cell, cell.buffer)
            if self.device.backend == "host":
                with cell.stream:
                    self.check(cell, np.from_dlpack(cell.buffer))

    def move(self, cell, stream):
        if cell.stream is stream:
            return
        how = self.random.randrange(3)
        if how == 0:
            stream.wait(cell.stream)
        elif how == 1:
            stream.wait(cell.stream.record())
        else:
            event = self.device.create_event(timing_enabled=self.random.random() < 0.5)
            cell.stream.record(event)
            stream.wait(event)
            self.events.append(event)
        cell.stream = stream

    def do_move(self):
        cell = self.cell()
        if not cell.stays:
            self.move(cell, self.stream())

    def do_drop(self):
        for items in (self.cells, self.graphs, self.events):
            if items and self.random.random() < 0.5:
                self.give_up(items.pop(self.random.randrange(len(items))))

    def do_drop_of_others(self):
        try:
            for _ in range(5):
                self.shared.dropped.get_nowait()
        except queue.Empty:
            pass

    # --- Streams, events, values -------------------------------------------------------------------------------------------

    def do_replace_stream(self):
        index = self.random.randrange(len(self.streams))
        old, new = self.streams[index], self.device.create_stream(nonblocking=self.random.random() < 0.7)
        self.cells = [cell for cell in self.cells if cell.stream is not old or not cell.stays]
        self.graphs = [graph for graph in self.graphs if graph[1].stream is not old or not graph[1].stays]
        for cell in self.cells + [graph[1] for graph in self.graphs]:
            if cell.stream is old:
                self.move(cell, new)
        self.streams[index] = new
        if self.random.random() < 0.3:
            self.sync(old)
            old.close()

    def do_spare_stream(self):
        try:
            stream = self.shared.spare.get_nowait()
        except queue.Empty:
            return
        cell = self.cell()
        stream.wait(cell.stream)
        value = self.number()
        weir.launch(stream, weir.grid_for(cell.buffer.size), add, cell.buffer.size, value, cell.buffer)
        cell.value += value
        cell.stream.wait(stream)
        self.shared.spare.put(stream if self.random.random() < 0.7 else self.device.create_stream())

    def do_close(self):
        """Closes a buffer. Views, arrays and graphs continue to use its memory."""
        cell = self.cell()
        if self.device.backend == "host" and cell.buffer.is_host_accessible and self.random.random() < 0.5:
            array = np.asarray(cell.buffer)
            view = cell.buffer.view()
            cell.buffer.close()
            self.sync(cell.stream)
            self.check(cell, array)
            cell.buffer = view
            return
        former, cell.buffer = cell.buffer, cell.buffer.view()
        former.close()

    def do_values(self):
        stream, other = self.stream(), self.stream()
        word = self.device.allocate(1, self.random.choice([weir.uint32, weir.uint64]))
        word.fill(0, stream=stream)
        other.wait(stream)
        if other is not stream:
            stream.write_value(word, 5)
            other.wait_value(word, 5)
            stream.wait(other)

    def do_event(self):
        event = self.stream().record(timing_enabled=True)
        self.events.append(event)
        repr(event), event.is_done
        if self.random.random() < 0.3:
            event.sync(timeout=60)

    def do_sync(self):
        self.sync(self.stream())

    def do_wrap(self):
        stream = self.stream()
        wrapped = weir.Stream.wrap(stream.handle, self.device)
        assert wrapped == stream
        wrapped.record()
        stream.is_done, stream.pending, repr(stream)

    def do_await(self):
        stream, event = self.stream(), self.stream().record()

        async def wait():
            await event
            try:
                await stream
            except Expected:
                pass

        asyncio.run(wait())

    def do_collect(self):
        if self.random.random() < 0.1:
            gc.collect()

    # --- Host functions ------------------------------------------------------------------------------------------------

    def do_function(self):
        def call(cell_of_calls):
            cell_of_calls[1] += 1

        self.calls[0] += 1
        self.stream().launch_host_func(call, self.calls)

    def do_failing_function(self):
        if self.random.random() < 0.3:
            self.stream().launch_host_func(fail)

    def do_callback(self):
        def call(stream, error, calls):
            calls[1] += 1

        self.callbacks[0] += 1
        self.stream().add_callback(call, self.callbacks)

    # --- Graphs --------------------------------------------------------------------------------------------------------

    def body(self, cell, functions):
        """Makes `work(stream)`, which adds the second result to the cell. Memory is allocated before a capture forbids it."""
        n, value = cell.buffer.size, self.number()
        other = self.device.allocate(n, weir.int32) if self.random.random() < 0.5 else None
        calls = functions and self.random.random() < 0.3

        def work(stream):
            weir.launch(stream, weir.grid_for(n), add, n, value, cell.buffer)
            if other is not None:
                other.fill(7, stream=stream)
                weir.launch(stream, weir.grid_for(n), add_array, n, other, cell.buffer)
            if calls:
                stream.launch_host_func(int)

        return work, value + (7 if other is not None else 0)

    def do_capture(self):
        cell = self.cell()
        stream = self.device.create_stream()
        work, total = self.body(cell, True)
        if self.random.random() < 0.2:
            try:
                with weir.capture(stream):
                    work(stream)
                    raise Expected
            except Expected:
                return
        with weir.capture(stream) as captured:
            work(stream)
            del work  # the graph alone keeps its memory
            if self.random.random() < 0.3:
                forked = self.device.create_stream()
                forked.wait(stream)
                self.device.allocate(10).fill(1, stream=forked)
                stream.wait(forked)
        self.graphs.append((captured.graph, cell, total))

    def do_build(self):
        cell = self.cell()
        builder = weir.GraphBuilder(self.device)
        first, total = self.body(cell, False)
        second, more = self.body(cell, False)
        node = builder.add([], first)
        builder.add([node], second)
        if self.random.random() < 0.7:
            self.graphs.append((builder.finish(), cell, total + more))

    def do_conditional(self):
        cell = self.cell()
        flag = self.device.allocate(1, weir.uint32)
        flag.fill(1, stream=cell.stream)
        work, total = self.body(cell, False)
        with weir.capture(self.device.create_stream()) as captured:
            captured.stream.capture_if(flag, work)
        del flag, work
        captured.graph.launch(cell.stream)
        cell.value += total

    def do_launch_graph(self):
        if not self.graphs:
            return
        graph, cell, total = self.random.choice(self.graphs)
        for _ in range(self.random.randrange(1, 4)):
            graph.launch(cell.stream)
            cell.value += total

    def do_file(self):
        cell = self.cell()
        n = cell.buffer.size
        with weir.capture(portable=True) as captured:
            weir.launch(captured.stream, weir.grid_for(n), add, n, 3, cell.buffer)
        loaded = self.device.load_graph(captured.graph.to_bytes({"x": cell.buffer}))
        loaded.bind("x", cell.buffer)
        self.graphs.append((loaded.build(), cell, 3))

    def do_change(self):
        cell = self.cell()
        n = cell.buffer.size
        with weir.capture() as captured:
            weir.launch(captured.stream, weir.grid_for(n), add, n, 3, cell.buffer)
            node = captured.stream.last_captured_node
        changes = weir.GraphChanges(self.device)
        changes.launch(node, weir.grid_for(n), add, n, 5, cell.buffer)
        captured.graph.apply(changes)
        self.graphs.append((captured.graph, cell, 5))

    def end(self):
        for stream in self.streams:
            self.sync(stream)
        for cell in self.cells:
            self.check(cell, self.read(cell))
        assert self.calls[0] == self.calls[1], self.calls
        deadline = time.monotonic() + 60
        while self.callbacks[0] != self.callbacks[1]:
            assert time.monotonic() < deadline, self.callbacks
            time.sleep(0.001)


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    print(f"seed {seed}", flush=True)
    faulthandler.dump_traceback_later(seconds + 240, exit=True)
    shared = Shared(weir.Device())
    end = time.monotonic() + seconds
    failures = []

    def work(index):
        try:
            worker = Worker(shared, seed * 1000 + index)
            while time.monotonic() < end and not failures:
                for _ in range(20):
                    worker.step()
                    shared.steps += 1
            worker.end()
        except BaseException:
            failures.append(traceback.format_exc())

    usual = sys.unraisablehook  # gets all but the first exception of a stream's functions
    sys.unraisablehook = lambda told: None if told.exc_type is Expected else usual(told)
    sys.setswitchinterval(1e-4)
    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"about {shared.steps} steps", flush=True)
    sys.exit(bool(failures))


main()
