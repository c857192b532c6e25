# SPDX-License-Identifier: Apache-2.0
"""Tests pools of streams, partitions, batches, waits."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import weir


def test_partitions(device):
    part = device.create_partition(1)
    assert part.device == device and part.compute_units >= 1
    with part.create_stream() as stream:
        x = device.allocate(10, weir.int32)
        x.fill(3)
        assert (x.get() == 3).all()
    del part
    stream.sync()  # the stream keeps its partition
    for wrong in (0, 1 << 20):
        with pytest.raises(weir.InvalidArgumentError):
            device.create_partition(wrong)


def test_copy_batches(device):
    numbers = np.arange(100, dtype=np.int16)
    with device.create_stream() as stream:
        x, y = device.allocate(100, "i2").copy_from(numbers), device.allocate(100, "i2")
        y.fill(0)
        stream.copy_batch([(y[10 * i : 10 * i + 5], x[10 * i : 10 * i + 5]) for i in range(10)], source_access="any_time")
        result = y.get().reshape(10, 10)
        assert (result[:, :5] == numbers.reshape(10, 10)[:, :5]).all() and not result[:, 5:].any()
        stream.copy_batch([])
        with pytest.raises(weir.LengthMismatchError):
            stream.copy_batch([(y, x[:50])])
        with pytest.raises(TypeError):
            stream.copy_batch([(y, numbers)])
        with pytest.raises(ValueError, match="any_time"):
            stream.copy_batch([(y, x)], source_access="never")


def test_batches_of_memory_operations_are_done_in_order(device):
    stream = device.create_stream()
    small, large = device.allocate(2, weir.uint32, kind="pinned"), device.allocate(1, weir.uint64, kind="pinned")
    words, word = np.asarray(small), np.asarray(large)
    words[:], word[:] = 0, 0
    operation = weir.MemoryOperation
    stream.batch_memory_operations(
        [
            operation.write(small[0:1], 1),
            operation.wait(small[1:2], 5, "eq", flush=device.supports("wait_value_flush")),
            operation.write(large, 1 << 40),
        ]
    )
    with pytest.raises(TimeoutError):
        stream.sync(timeout=0.05)
    assert words[0] == 1 and word[0] == 0
    words[1] = 5
    stream.sync()
    assert word[0] == 1 << 40
    stream.batch_memory_operations([])
    with pytest.raises(TypeError, match="uint32"):
        operation.write(device.allocate(1, weir.int32), 1)
    with pytest.raises(ValueError, match="nor"):
        operation.wait(small, 1, "lt")


def test_sync_ends_while_another_thread_goes_on_to_submit(device):
    stream, stop = device.create_stream(), threading.Event()

    def feed():
        while not stop.is_set():
            stream.launch_host_func(time.sleep, 0.002)  # waits for room in the queue, so the stream always has work

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        time.sleep(0.05)
        stream.sync(timeout=20)
        device.sync(timeout=20)
        assert not stream.is_done
    finally:
        stop.set()
        thread.join()
        stream.sync()


@pytest.mark.parametrize("what", ["stream", "device"])
def test_a_wait_enqueues_no_record_for_each_question(what):
    driver = os.environ.get("WEIR_TEST_FAKE_CUDA", "")
    if not os.path.exists(driver):
        pytest.skip("there is no stand-in for CUDA's driver")
    code = f"import weir; d = weir.Device(); stream = d.create_stream(); stream.record(); {what.replace('device', 'd')}.sync()"
    not_ready = "fail=cuStreamQuery:1-200:600 fail=cuEventQuery:1-200:600"
    environment = {**os.environ, "WEIR_BACKEND": "cuda", "WEIR_CUDA_DRIVER": driver, "WEIR_TEST_DRIVER": f"trace=1 {not_ready}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True)
    calls = done.stderr.split("call ")
    assert sum(call.startswith(("cuEventQuery", "cuEventSynchronize")) for call in calls) > 0
    records = sum(call.startswith(("cuEventRecord", "cuCtxRecordEvent")) for call in calls)
    assert records == 2 if what == "stream" else records < 5  # one of the program, one of the wait


@pytest.mark.parametrize("make", ["stream.write_value(x, v)", "stream.wait_value(x, v)", "weir.MemoryOperation.write(x, v)", "weir.MemoryOperation.wait(x, v)"])
def test_a_value_that_does_not_fit_the_buffer_is_refused(device, make):
    stream, x = device.create_stream(), device.allocate(1, weir.uint32)
    x.fill(0)
    with pytest.raises(ValueError, match="uint32"):
        eval(make, {"weir": weir, "stream": stream, "x": x, "v": (1 << 32) + 5})
    stream.write_value(device.allocate(1, weir.uint64), (1 << 32) + 5)
    stream.sync()


def test_streams_that_are_left_in_another_order(device):
    a, b = device.create_stream(), device.create_stream()
    a.__enter__()
    b.__enter__()
    a.__exit__()
    assert weir.get_current_stream(device) == b
    b.__exit__()
    assert weir.get_current_stream(device) == device.default_stream
    b.__exit__()  # not entered any more


@pytest.mark.parametrize("number", [256, 4096, 1 << 32, 123456 * 16])
def test_an_integer_that_is_no_stream_is_refused(device, number):
    if device.backend != "host":
        pytest.skip("a GPU's driver reads whatever is there")
    x = device.allocate(4)
    kernel = weir.compile('extern "C" __global__ void f() {}', device)["f"]
    with weir.capture(device.create_stream()) as captured:
        x.fill(1)
    for call in (
        lambda: weir.launch(number, weir.LaunchConfig(1, 1), kernel),
        lambda: x.fill(0, stream=number),
        lambda: weir.Stream.wrap(number, device),
        lambda: captured.graph.upload(number),
        lambda: captured.graph.launch(number),
        lambda: x.__dlpack__(stream=number),
    ):
        with pytest.raises(weir.InvalidArgumentError):
            call()
