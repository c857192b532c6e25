# SPDX-License-Identifier: Apache-2.0
"""Runs host functions in Python while other threads hold the GIL inside blocking driver calls:
stress_host_functions.py [FUNCTIONS [THREADS]]

Like libraries that do not release the GIL, the threads call Weir's C interface through ctypes.PyDLL, which keeps the GIL: a
copy, then a wait for their own stream. Prints the number of functions that ran, and the time."""

import ctypes
import faulthandler
import os
import sys
import threading
import time

import weir


def main(functions: int, threads: int) -> None:
    faulthandler.dump_traceback_later(500, exit=True)
    device = weir.Device()
    c = ctypes.PyDLL(os.environ.get("WEIR_C_LIBRARY", "libweir_c.so.0"))
    stop = threading.Event()
    calls = [0] * threads

    def hold(i: int) -> None:
        handle, stream = ctypes.c_void_p(), ctypes.c_void_p()
        assert c.weir_device_get(str(device).encode(), ctypes.byref(handle)) == 0
        assert c.weir_stream_create(handle, None, ctypes.byref(stream)) == 0
        source, target = (ctypes.create_string_buffer(65536) for _ in range(2))
        while not stop.is_set():
            assert c.weir_stream_copy(stream, target, source, ctypes.c_size_t(65536)) == 0
            assert c.weir_stream_synchronize(stream) == 0
            calls[i] += 1
            time.sleep(0.001)  # without the GIL
        c.weir_stream_release(stream)

    holders = [threading.Thread(target=hold, args=(i,)) for i in range(threads)]
    for holder in holders:
        holder.start()
    ran = 0

    def count() -> None:
        nonlocal ran
        ran += 1

    streams = [device.create_stream() for _ in range(4)]
    start = time.perf_counter()
    for i in range(functions):
        streams[i % 4].launch_host_func(count)
        if i % 10000 == 9999:
            streams[i % 4].sync()
    for stream in streams:
        stream.sync()
    seconds = time.perf_counter() - start
    stop.set()
    for holder in holders:
        holder.join()
    assert ran == functions, ran
    print(f"{ran} host functions in {seconds:.1f} s, next to {sum(calls)} blocking calls with the lock by {threads} threads")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:] or ["1000000", "8"]))
