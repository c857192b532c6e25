# SPDX-License-Identifier: Apache-2.0
"""Tests that copies check types and shapes."""

import array
import ctypes
import subprocess
import sys

import numpy as np
import pytest

import weir


@pytest.fixture
def stream():
    with weir.Device("host").create_stream() as stream:
        yield stream


@pytest.fixture
def x(stream):
    return stream.device.allocate(4, weir.float32).copy_from(np.arange(4, dtype=np.float32))


class Tensor:
    """An array of a library that supports DLPack but not the buffer protocol, like PyTorch's tensors."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __dlpack__(self, **options):
        return self.numbers.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.numbers.__dlpack_device__()


STRUCT = np.dtype([("O", np.float32), ("rest", np.int32, 3)])  # the name of a field is not its type
WRONG = {
    "int32": np.zeros(4, np.int32),
    "float64 of as many bytes": np.zeros(2),
    "float16 of as many bytes": np.zeros(8, np.float16),
    "complex64": np.zeros(2, np.complex64),
    "the other byte order": np.zeros(4, ">f4"),
    "int8": np.zeros(16, np.int8),
    "a structure": np.zeros(1, STRUCT),
    "ctypes": (ctypes.c_int * 4)(),
    "array": array.array("i", [1, 2, 3, 4]),
    "a tensor": Tensor(np.zeros(4, np.int32)),
}


@pytest.mark.parametrize("other", WRONG.values(), ids=WRONG)
def test_another_type_is_refused(x, other):
    with pytest.raises(TypeError, match="float32.*uint8"):
        x.copy_from(other)
    with pytest.raises(TypeError, match="float32.*uint8"):
        x.copy_to(other)
    assert (x.get() == [0, 1, 2, 3]).all()


def test_a_buffer_of_another_type_is_refused(x, stream):
    other = stream.device.allocate(4, weir.int32)
    for copy in (
        lambda: x.copy_from(other),
        lambda: x.copy_to(other),
        lambda: stream.copy_batch([(x, other)]),
        lambda: weir.GraphChanges(stream.device).copy(0, x, other),
    ):
        with pytest.raises(TypeError, match="float32"):
            copy()


def test_another_shape_is_refused(stream):
    x = stream.device.allocate((2, 3), weir.float32)
    y = stream.device.allocate((3, 2), weir.float32)
    for copy in (
        lambda: x.copy_from(np.zeros((3, 2), np.float32)),
        lambda: x.copy_to(np.zeros(6, np.float32)),
        lambda: x.copy_from(y),
        lambda: stream.copy_batch([(x, y)]),
    ):
        with pytest.raises(weir.LengthMismatchError, match=r"\(2, 3\)"):
            copy()
    x.copy_from(np.ones((1, 2, 3), np.float32))
    assert (x.get() == 1).all()


def test_bytes_go_everywhere(x, stream):
    numbers = np.array([5, 6, 7, 8], ">f4")
    x.view(weir.uint8).copy_from(numbers)
    assert x.view(weir.uint8).get().tobytes() == numbers.tobytes()
    x.copy_from(np.arange(4, dtype=np.float32).tobytes())
    assert (x.get() == [0, 1, 2, 3]).all()
    into = np.zeros(4, np.int32)
    x.view(weir.uint8).copy_to(into)
    assert (into.view(np.float32) == [0, 1, 2, 3]).all()
    x.view(weir.uint8).copy_to(np.zeros(1, STRUCT))
    assert stream.device.allocate(16).copy_from(x).nbytes == 16
    with pytest.raises(weir.LengthMismatchError, match="15"):
        x.copy_from(bytes(15))


def test_arrays_of_objects_are_refused(x, stream):
    for objects in (np.array([None, 1], object), np.zeros(1, [("a", "i8"), ("b", object)])):
        for buffer in (x, stream.device.allocate(objects.nbytes)):
            with pytest.raises((BufferError, TypeError)):
                buffer.copy_to(objects)
            with pytest.raises((BufferError, TypeError)):
                buffer.copy_from(objects)
        with pytest.raises(BufferError):
            weir.from_dlpack(objects)
        with pytest.raises(BufferError):
            stream.device.register_host(objects)


def test_arrays_with_dlpack_alone(x):
    x.copy_from(Tensor(np.full(4, 7, np.float32)))
    into = np.zeros(4, np.float32)
    assert x.copy_to(Tensor(into)).numbers is into
    assert (into == 7).all()
    with pytest.raises(weir.LengthMismatchError):
        x.copy_from(Tensor(np.zeros(5, np.float32)))


@pytest.mark.parametrize("copy", ["x.get()", "x.copy_to(np.zeros(4, np.float32))", "x.copy_from(np.zeros(4, np.float32))", "np.from_dlpack(x)"])
def test_ctrl_c_ends_the_wait_of_a_copy(copy):
    code = f"""if True:
        import signal, threading, time
        import numpy as np, weir
        stream = weir.Device("host").create_stream()
        stream.__enter__()
        x = stream.device.allocate(4, weir.float32)
        x.fill(0)
        flag = stream.device.allocate(1, weir.uint32, kind="pinned")
        np.asarray(flag)[:] = 0
        stream.wait_value(flag, 1)
        threading.Timer(0.3, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            {copy}
        except KeyboardInterrupt:
            assert time.monotonic() - begin < 5
            np.asarray(flag)[:] = 1
            stream.sync()
            print("interrupted")
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout == "interrupted\n", run.stderr
