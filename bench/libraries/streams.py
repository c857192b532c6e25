#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of an operation on a stream in Python libraries: streams.py torch|cupy|cuda.core [ROUNDS].

The operations are those of weir-bench-cuda, with the same names. Each is called some hundred times in a Python loop; waiting
for the device is not timed. Prints a line of JSON: the library's version and, for each operation, the median over
ROUNDS (51) of the time of one call in ns. Operations that the library lacks are left out. Exit status 77: the library
is not installed or finds no device; the line contains the reason.
"""
import importlib
import json
import statistics
import sys
import time

KERNEL = 'extern "C" __global__ void arguments_3(unsigned*, unsigned*, unsigned) {}'
BYTES = 4096


def torch_operations():
    torch = importlib.import_module("torch")
    torch.cuda.init()
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    event = torch.cuda.Event()
    device = torch.zeros(BYTES // 4, dtype=torch.int32, device="cuda")
    pinned = torch.zeros(BYTES // 4, dtype=torch.int32).pin_memory()
    event.record(stream)

    def within(work):  # PyTorch's operators use the current stream, which a program sets once for many operators
        def run(count):
            with torch.cuda.stream(stream):
                begin = time.perf_counter_ns()
                for _ in range(count):
                    work()
                return time.perf_counter_ns() - begin
        return run

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(100):
            device.add_(1)
    operations = {
        "record": lambda: event.record(stream),
        "wait (event)": lambda: other.wait_event(event),
        "wait (stream)": lambda: other.wait_stream(stream),
        "is_complete, idle": stream.query,
        "synchronize, idle": stream.synchronize,
        "stream lease (raw: create + destroy)": torch.cuda.Stream,  # from a pool of 32 streams
        "event (raw: create + destroy)": torch.cuda.Event,
        "launch, 3 arguments": within(lambda: device.add_(1)),
        "copy of 4 KiB, pinned to device": within(lambda: device.copy_(pinned, non_blocking=True)),
        "fill of 4 KiB": within(lambda: device.fill_(7)),
        "asynchronous allocate + free": within(lambda: torch.empty(BYTES, dtype=torch.uint8, device="cuda")),
        "graph launch": within(graph.replay),
    }
    return torch.__version__, operations, torch.cuda.synchronize


def cupy_operations():
    cupy = importlib.import_module("cupy")
    cupy.cuda.Device().use()
    stream, other = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    kernel = cupy.RawModule(code=KERNEL).get_function("arguments_3")
    device = cupy.zeros(BYTES // 4, dtype=cupy.uint32)
    pinned = cupy.cuda.alloc_pinned_memory(BYTES)
    number = cupy.uint32(3)

    def within(work):
        def run(count):
            with stream:
                begin = time.perf_counter_ns()
                for _ in range(count):
                    work()
                return time.perf_counter_ns() - begin
        return run

    def launch():
        kernel((1,), (32,), (device, device, number))

    def capture():
        with stream:
            stream.begin_capture(cupy.cuda.runtime.streamCaptureModeThreadLocal)
            for _ in range(100):
                launch()
            return stream.end_capture()

    graph = capture()
    pool = cupy.cuda.MemoryAsyncPool()

    def graph_and_wait():
        graph.launch(stream)
        stream.synchronize()

    operations = {
        "record": lambda: event.record(stream),
        "wait (event)": lambda: other.wait_event(event),
        "is_complete, idle": lambda: stream.done,
        "synchronize, idle": stream.synchronize,
        "stream create + destroy": lambda: cupy.cuda.Stream(non_blocking=True),
        "event (raw: create + destroy)": lambda: cupy.cuda.Event(disable_timing=True),
        "launch, 3 arguments": within(launch),
        "copy of 4 KiB, pinned to device": lambda: device.data.copy_from_host_async(pinned.ptr, BYTES, stream),
        "fill of 4 KiB": lambda: device.data.memset_async(7, BYTES, stream),
        "asynchronous allocate + free": within(lambda: pool.malloc(BYTES)),
        "host function, nothing captured": lambda: stream.launch_host_func(int, 0),
        "capture of 100 kernels": capture,
        "graph launch": lambda: graph.launch(stream),
        "graph launch + synchronize": graph_and_wait,
    }
    return cupy.__version__, operations, cupy.cuda.Device().synchronize


def cuda_core_operations():
    core = importlib.import_module("cuda.core")
    if not hasattr(core, "Device"):
        core = importlib.import_module("cuda.core.experimental")
    device = core.Device()
    device.set_current()
    stream, other = device.create_stream(), device.create_stream()
    event = stream.record()
    arch = "sm_" + "".join(str(part) for part in device.compute_capability)
    program = core.Program(KERNEL, code_type="c++", options=core.ProgramOptions(arch=arch))
    kernel = program.compile("cubin").get_kernel("arguments_3")
    one = core.LaunchConfig(grid=1, block=32)
    memory = device.allocate(BYTES, stream=stream)
    pinned = core.LegacyPinnedMemoryResource().allocate(BYTES)
    numpy = importlib.import_module("numpy")
    number = numpy.uint32(3)

    def launch(where=stream):
        core.launch(where, one, kernel, memory, memory, number)

    def capture():
        builder = device.create_graph_builder().begin_building("thread_local")
        for _ in range(100):
            launch(builder)
        return builder.end_building()

    builder = capture()
    graph = builder.complete()
    graph.upload(stream)

    def graph_and_wait():
        graph.launch(stream)
        stream.sync()

    operations = {
        "record": lambda: stream.record(event),
        "wait (event)": lambda: other.wait(event),
        "wait (stream)": lambda: other.wait(stream),
        "synchronize, idle": stream.sync,
        "stream create + destroy": lambda: device.create_stream().close(),
        "event (raw: create + destroy)": lambda: device.create_event().close(),
        "launch, 3 arguments": launch,
        "copy of 4 KiB, pinned to device": lambda: memory.copy_from(pinned, stream=stream),
        "fill of 4 KiB": lambda: memory.fill(7, stream=stream),
        "asynchronous allocate + free": lambda: device.allocate(BYTES, stream=stream).close(stream),
        "capture of 100 kernels": lambda: capture().close(),
        "graph launch": lambda: graph.launch(stream),
        "graph launch + synchronize": graph_and_wait,
    }
    return core.__version__, operations, device.sync


FEW = {"stream create + destroy": 100, "capture of 100 kernels": 10, "graph launch": 20, "graph launch + synchronize": 20}


def measure(name, operation, drain, rounds):
    count = FEW.get(name, 300)
    timed = operation
    if getattr(operation, "__name__", "") != "run":
        def timed(count):
            begin = time.perf_counter_ns()
            for _ in range(count):
                operation()
            return time.perf_counter_ns() - begin
    timed(count)
    drain()
    times = []
    for _ in range(rounds):
        times.append(timed(count) / count)
        drain()
    return statistics.median(times)


def main():
    makers = {"torch": torch_operations, "cupy": cupy_operations, "cuda.core": cuda_core_operations}
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in makers:
        sys.exit(__doc__)
    rounds = int(sys.argv[2]) if len(sys.argv) == 3 else 51
    try:
        version, operations, drain = makers[sys.argv[1]]()
    except Exception as error:  # a failure to start is also a result
        print(json.dumps({"absent": f"{type(error).__name__}: {error}".splitlines()[0][:200]}))
        sys.exit(77)
    rows, failed = {}, {}
    for name, operation in operations.items():
        try:
            rows[name] = round(measure(name, operation, drain, rounds), 1)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    print(json.dumps({"version": version, "python": sys.version.split()[0], "rows": rows, "failed": failed}))


if __name__ == "__main__":
    main()
