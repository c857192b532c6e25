#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the cost of a call from Python in Weir, CuPy, cuda.core and PyTorch, in one process: overhead.py [ROUNDS].

The other libraries' calls are those of bench/libraries/streams.py. In each round, each library in turn makes each call 300
times, and then waits for the device, untimed. Prints the medians over the rounds (51) in ns, and the ratio of Weir's time to the
shortest of the others. Weir launches a kernel with a signature, with a `weir.LaunchConfig`.
"""
import importlib.util
import pathlib
import statistics
import sys
import time

import weir

BYTES = 4096
ROWS = ("record + wait", "launch, 3 arguments", "copy of 4 KiB, pinned to device", "host function")
COUNT = 300


def load_peers():
    path = pathlib.Path(__file__).resolve().parents[3] / "bench/libraries/streams.py"
    spec = importlib.util.spec_from_file_location("streams", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def weir_operations(source):
    device = weir.Device()
    stream, other = device.create_stream(), device.create_stream()
    event = device.create_event()
    kernel = weir.compile(source).get_kernel("arguments_3", (weir.ptr, weir.ptr, weir.uint32))
    one = weir.LaunchConfig(1, 32)
    memory, pinned = device.allocate(BYTES), device.allocate(BYTES, kind="pinned")

    def record_and_wait():
        stream.record(event)
        other.wait(event)

    return weir.__version__, {
        "record + wait": record_and_wait,
        "launch, 3 arguments": lambda: weir.launch(stream, one, kernel, memory, memory, 3),
        "copy of 4 KiB, pinned to device": lambda: memory.copy_from(pinned, stream=stream),
        "host function": lambda: stream.launch_host_func(int),
    }, device.sync


def rows_of(operations):
    """The rows that a peer has, by the names in streams.py."""
    rows = {name: operations[name] for name in ROWS if name in operations}
    if "record" in operations and "wait (event)" in operations:
        record, wait = operations["record"], operations["wait (event)"]

        def record_and_wait():
            record()
            wait()

        rows["record + wait"] = record_and_wait
    if "host function, nothing captured" in operations:
        rows["host function"] = operations["host function, nothing captured"]
    return rows


def time_of(operation, count):
    if getattr(operation, "__name__", "") == "run":  # it times itself, inside the library's own stream scope
        return operation(count) / count
    begin = time.perf_counter_ns()
    for _ in range(count):
        operation()
    return (time.perf_counter_ns() - begin) / count


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 51
    peers = load_peers()
    makers = {"Weir": lambda: weir_operations(peers.KERNEL), "CuPy": peers.cupy_operations,
              "cuda.core": peers.cuda_core_operations, "PyTorch": peers.torch_operations}
    libraries, drain = {}, None
    for name, make in makers.items():
        try:
            version, operations, drain = make()
            libraries[f"{name} {version}"] = rows_of(operations)
        except Exception as error:
            print(f"{name} is not there: {type(error).__name__}: {error}".splitlines()[0][:160])
    times = {row: {} for row in ROWS}
    for count in [20, *[COUNT] * rounds]:  # the first round warms up
        for row in ROWS:
            for library, operations in libraries.items():
                if row not in operations or times[row].get(library) is None and library in times[row]:
                    continue
                try:
                    taken = time_of(operations[row], count)
                    drain()
                except Exception as error:
                    print(f"{library}, {row}: {type(error).__name__}: {error}".splitlines()[0][:160])
                    times[row][library] = None
                    continue
                if count == COUNT:
                    times[row].setdefault(library, []).append(taken)
    width = max(map(len, ROWS))
    print(f"{weir.Device()}: {weir.Device().name}; medians of {rounds} rounds of {COUNT} calls, ns")
    print("  ".join([" " * width, *(name.rjust(12) for name in libraries), "Weir : cheapest peer"]))
    for row in ROWS:
        medians = {name: statistics.median(taken) for name, taken in times[row].items() if taken}
        cells = [f"{medians[name]:.0f}" if name in medians else "-" for name in libraries]
        own = [value for name, value in medians.items() if name.startswith("Weir")]
        others = [value for name, value in medians.items() if not name.startswith("Weir")]
        ratio = f"{own[0] / min(others):.2f}" if own and others else "-"
        columns = [cell.rjust(max(12, len(name))) for cell, name in zip(cells, libraries)]
        print("  ".join([row.ljust(width), *columns, ratio]))


if __name__ == "__main__":
    main()
