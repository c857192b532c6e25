# SPDX-License-Identifier: Apache-2.0
"""Tests import and export of memory: DLPack, __cuda_array_interface__ and the buffer protocol."""
import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import weir

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


@pytest.fixture
def device():
    return weir.Device("host")


def wait_until(holds):
    """Polls: a Weir thread frees the memory."""
    gc.collect()
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


class Array:
    """An array of a library that only has __cuda_array_interface__."""

    def __init__(self, **interface):
        self.__cuda_array_interface__ = interface


@pytest.mark.parametrize("name", TYPES)
def test_numpy_in_and_out_share_the_memory(name, device):
    numbers = np.arange(12).reshape(3, 4).astype(name)
    buffer = weir.from_dlpack(numbers)
    assert (buffer.shape, buffer.nbytes, buffer.handle) == ((3, 4), numbers.nbytes, numbers.ctypes.data)
    views = [np.asarray(buffer)]
    if name != "bool" or np.lib.NumpyVersion(np.__version__) >= "1.25.0":  # the first with bool
        views.append(np.from_dlpack(buffer))
    for back in views:
        assert back.dtype == numbers.dtype and back.ctypes.data == numbers.ctypes.data and (back == numbers).all()
    assert memoryview(buffer).strides == numbers.strides


def test_the_owner_lives_as_long_as_the_last_view():
    numbers = np.arange(4.0)
    before = sys.getrefcount(numbers)
    buffer = weir.from_dlpack(numbers)
    view = np.from_dlpack(buffer)
    del buffer
    gc.collect()
    time.sleep(0.02)
    assert sys.getrefcount(numbers) > before and view[3] == 3
    del view
    wait_until(lambda: sys.getrefcount(numbers) == before)


def test_memory_in_use_stays_while_a_capture_forbids_to_wait(device):
    opened = threading.Event()
    stream, other = device.create_stream(), device.create_stream()
    numbers = np.zeros(1 << 20)
    gone = weakref.ref(numbers)
    buffer = weir.from_dlpack(numbers)
    stream.launch_host_func(lambda: opened.wait(10))
    buffer.fill(1.0, stream=stream)
    other.begin_capture()
    try:
        del numbers, buffer
        gc.collect()
        time.sleep(0.05)
        assert gone() is not None
    finally:
        opened.set()
        stream.sync(timeout=10)
        other.discard_capture()
    wait_until(lambda: gone() is None)


def test_a_capsule_that_nobody_takes_lets_go():
    numbers = np.arange(4.0)
    before = sys.getrefcount(numbers)
    for version in (None, (0, 8), (1, 0)):
        weir.from_dlpack(numbers).__dlpack__(max_version=version)
    wait_until(lambda: sys.getrefcount(numbers) == before)


def test_a_capsule_is_taken_once():
    capsule = weir.from_dlpack(np.arange(4)).__dlpack__()
    assert weir.from_dlpack(capsule).size == 4
    with pytest.raises(ValueError, match="taken before"):
        weir.from_dlpack(capsule)


def test_read_only_memory_stays_read_only():
    for source in (np.broadcast_to(np.float32(1), (1, 1)).copy(), b"abcd"):
        if isinstance(source, np.ndarray):
            source.flags.writeable = False
        buffer = weir.from_dlpack(source)
        assert not np.asarray(buffer).flags.writeable
        with pytest.raises(BufferError, match="read-only"):
            buffer.__dlpack__()
        again = weir.from_dlpack(buffer)  # a versioned capsule carries the flag
        with pytest.raises(ValueError, match="read-only"):
            again.copy_from(bytes(again.nbytes))


def test_what_no_buffer_can_be_is_refused():
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    with pytest.raises(BufferError, match="contiguous"):
        weir.from_dlpack(numbers.T)
    with pytest.raises(BufferError):
        weir.from_dlpack(np.array(["text"]))
    with pytest.raises(TypeError, match="not an array"):
        weir.from_dlpack(3)
    assert weir.from_dlpack(numbers[:1]).shape == (1, 4)
    assert weir.from_dlpack(np.empty((0, 3))).shape == (0, 3)
    assert weir.from_dlpack(np.float32(2).reshape(())).shape == ()


def test_the_other_byte_order_is_refused(device):
    for other in (np.dtype(">f4"), np.dtype("<i2").newbyteorder(), ">f4"):
        with pytest.raises(TypeError):
            device.allocate(4, other)
    assert device.allocate(4, np.dtype("<f4")).dtype is weir.float32


def test_a_consumer_on_the_host_finds_the_work_done(device):
    """The host function keeps the stream busy until after the consumer has begun to wait."""
    began = threading.Event()
    with device.create_stream() as stream:
        buffer = stream.allocate(1000, weir.int32)
        stream.launch_host_func(lambda: (began.wait(10), time.sleep(0.05)))
        buffer.copy_from(weir.from_dlpack(np.full(1000, 7, np.int32)))
        threading.Timer(0.01, began.set).start()
        assert (np.from_dlpack(buffer) == 7).all()
    other = device.create_stream()  # it does not matter which stream is current
    buffer = other.allocate(1000, weir.int32)
    other.launch_host_func(lambda: time.sleep(0.05))
    buffer.copy_from(weir.from_dlpack(np.full(1000, 8, np.int32)), stream=other)
    assert (np.from_dlpack(buffer) == 8).all()


def test_a_consumers_stream_waits_and_the_caller_does_not(device):
    opened = threading.Event()
    producer, consumer = device.create_stream(), device.create_stream()
    with producer:
        producer.launch_host_func(lambda: opened.wait(10))
        buffer = producer.allocate(4)
        buffer.__dlpack__(stream=consumer.handle)
    assert not consumer.is_done
    untouched = device.create_stream()
    buffer.__dlpack__(stream=-1)
    assert untouched.is_done
    opened.set()
    consumer.sync(timeout=10)


def test_copies_and_devices(device):
    numbers = np.arange(6.0)
    buffer = weir.from_dlpack(numbers)
    assert buffer.__dlpack_device__() == (1, 0)
    copy = weir.from_dlpack(buffer.__dlpack__(copy=True, max_version=(1, 0)))
    assert copy.handle != buffer.handle and (copy.get() == numbers).all()
    assert weir.from_dlpack(buffer.__dlpack__(dl_device=(1, 0), copy=False)).handle == buffer.handle
    with pytest.raises(BufferError, match="dl_device"):
        buffer.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="names no stream"):
        buffer.__dlpack__(stream=2)
    assert not hasattr(buffer, "__cuda_array_interface__")  # this is host memory


def test_a_tensor_without_a_numpy_type(device):
    buffer = device.allocate(4, weir.bfloat16)
    assert weir.from_dlpack(buffer).dtype is weir.bfloat16


def test_the_buffer_protocol_of_pinned_memory(device):
    buffer = device.allocate((2, 3), weir.int32, "pinned")
    np.asarray(buffer)[:] = [[1, 2, 3], [4, 5, 6]]
    assert bytes(buffer) == np.arange(1, 7, dtype=np.int32).tobytes()
    assert memoryview(buffer).tolist() == [[1, 2, 3], [4, 5, 6]]
    view = memoryview(buffer)
    del buffer
    gc.collect()
    assert view.tolist()[1] == [4, 5, 6]


@pytest.mark.parametrize("shape, is_lent", [((2, 3), False), ((1, 3), True), ((0, 2, 3), True), ((), True), (4, True)])
def test_the_buffer_protocol_lends_fortrans_order_where_it_is_cs(shape, is_lent, device):
    api = ctypes.pythonapi
    view = ctypes.create_string_buffer(256)
    f_contiguous = 0x40 | 0x18
    take = api.PyObject_GetBuffer
    take.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    buffer = device.allocate(shape, weir.int32, "pinned")
    if not is_lent:
        with pytest.raises(BufferError, match="Fortran"):
            take(buffer, view, f_contiguous)
        return
    assert take(buffer, view, f_contiguous) == 0
    api.PyBuffer_Release(view)


def test_elements_without_a_type_are_refused(device):
    capsule = device.allocate(4).__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + 20).value = 10  # the tensor's type: float8_e4m3fn
    with pytest.raises(BufferError, match="does not support this element type"):
        weir.from_dlpack(capsule)


def test_memory_dropped_within_a_host_function(device):
    """A free may wait for work, and that work for the next host function, so the function's thread must not free."""
    stream = device.create_stream()
    for i in range(100):
        held = [device.allocate(1 << 16)]
        stream.launch_host_func(held.clear)
    stream.sync(timeout=20)


def test_torch_on_the_cpu():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    buffer = weir.from_dlpack(tensor)
    assert buffer.handle == tensor.data_ptr() and buffer.shape == (2, 3)
    np.asarray(buffer)[0, 0] = 5
    assert tensor[0, 0] == 5
    back = torch.from_dlpack(buffer)
    assert back.data_ptr() == tensor.data_ptr() and bool((back == tensor).all())
    del buffer
    pointer = back.data_ptr()
    del tensor
    gc.collect()
    assert back.data_ptr() == pointer and back[1, 2] == 5
    assert weir.from_dlpack(torch.ones(3, dtype=torch.bfloat16)).dtype is weir.bfloat16


def test_warp_on_the_cpu(device):
    warp = pytest.importorskip("warp")
    array = warp.array(np.arange(8, dtype=np.float32), dtype=warp.float32, device="cpu")
    buffer = weir.from_dlpack(array)
    assert buffer.device == device and buffer.handle == array.ptr and buffer.shape == (8,)
    with device.create_stream() as stream:
        buffer.fill(3)
        stream.sync()
    assert (array.numpy() == 3).all()
    back = warp.from_dlpack(buffer)
    assert back.ptr == array.ptr and back.dtype is warp.float32 and back.device.is_cpu


def test_cuda_arrays_need_the_cuda_backend():
    array = Array(shape=(4,), typestr="<f4", data=(4096, False), version=3, stream=None)
    if not any(d.backend == "cuda" for d in weir.Device.get_all_devices()):
        with pytest.raises(weir.Error, match="cuda"):
            weir.from_dlpack(array)
        return
    assert weir.from_dlpack(array).handle == 4096


class Tensor:
    """Like cuda.core's buffers: only DLPack. Claims to be on a GPU."""

    def __init__(self, numbers, versioned):
        self.numbers = numbers
        self.versioned = versioned

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, **options):
        if options and not self.versioned:
            raise TypeError("max_version")
        assert stream == -1
        return weir.from_dlpack(self.numbers).__dlpack__(stream=-1, **options)


@pytest.mark.parametrize("versioned", [True, False])
def test_kernels_take_arrays_that_have_dlpack_alone(versioned, device):
    @weir.kernel('extern "C" __global__ void set(int* out) { *out = 42; }')
    def set(out: weir.ptr) -> None: ...

    stream = device.create_stream()
    memory = np.zeros(2, np.int32)
    before = sys.getrefcount(memory)
    weir.launch(stream, weir.LaunchConfig(1, 1), set, Tensor(memory[1:], versioned))
    stream.sync()
    assert memory.tolist() == [0, 42]
    wait_until(lambda: sys.getrefcount(memory) == before)
    with pytest.raises(TypeError, match="do not accept this type"):
        weir.launch(stream, weir.LaunchConfig(1, 1), set, memory)


def test_kernels_take_arrays_of_others(device):
    @weir.kernel('extern "C" __global__ void set(int* out) { *out = 42; }')
    def set(out: weir.ptr) -> None: ...

    stream = device.create_stream()
    memory = np.zeros(1, np.int32)
    address = memory.ctypes.data
    weir.launch(stream, weir.LaunchConfig(1, 1), set, Array(shape=(1,), typestr="<i4", data=(address, False), version=3))
    stream.sync()
    assert memory[0] == 42


PRETENDED = r"""
import numpy as np, weir
device = weir.Device("hip:0")
numbers = np.arange(4, dtype=np.float32)
with device.create_stream() as stream:
    buffer = device.allocate(4, "float32").copy_from(numbers)
    again = weir.from_dlpack(buffer)
    assert (again.get() == numbers).all() and again.device == device and again.handle == buffer.handle
    on_host = weir.from_dlpack(buffer.__dlpack__(dl_device=(1, 0)))
    assert (np.asarray(on_host) == numbers).all()
assert buffer.__dlpack_device__() == (10, 0)
assert device.allocate(4, kind="pinned").__dlpack_device__() == (11, 0)
other = device.create_stream()
for stream in (None, 0, -1, other.handle):
    buffer.__dlpack__(stream=stream)
for refused in (1, 2, -2):
    try:
        buffer.__dlpack__(stream=refused)
    except ValueError:
        continue
    raise SystemExit(f"stream {refused} was taken")
for view in (memoryview, np.asarray):
    try:
        view(buffer)
    except (BufferError, TypeError):
        continue
    raise SystemExit("the host has a view of the device's memory")
"""


def test_a_gpu_that_is_pretended():
    library = "lib/cpu_cuda/libcuda.so.1"
    tree = next((p for p in pathlib.Path(weir._core.__file__).parents if (p / library).exists()), None)
    if tree is None:
        pytest.skip("the build tree has no bridge")
    environment = {k: v for k, v in os.environ.items() if k != "WEIR_BACKEND"}
    environment["WEIR_HIP_RUNTIME"] = f"{tree}/lib/bridge/7.2/libamdhip64.so.7"
    environment["LD_LIBRARY_PATH"] = f"{tree}/lib/cpu_cuda"
    environment["PYTHONPATH"] = f"{tree}/python"
    subprocess.run([sys.executable, "-X", "dev", "-c", PRETENDED], env=environment, check=True, timeout=60)


def test_arrays_are_pinned_where_they_lie():
    stream = weir.Device().create_stream()
    array = np.arange(100_000, dtype=np.float32).reshape(100, 1000)
    pinned = stream.device.register_host(array)
    assert (pinned.handle, pinned.shape, pinned.dtype) == (array.ctypes.data, (100, 1000), weir.float32)
    assert pinned.kind == "pinned" and pinned.device == stream.device
    x = stream.device.allocate(pinned.shape, pinned.dtype).copy_from(pinned, stream=stream)
    assert (x.get(stream=stream) == array).all()
    pinned.fill(3, stream=stream)
    stream.sync()
    assert (array == 3).all()
    references = sys.getrefcount(array)
    del pinned
    wait_until(lambda: sys.getrefcount(array) < references)
    again = stream.device.register_host(array)  # possible only because the array is no longer pinned
    assert again.handle == array.ctypes.data
    for wrong in (array.T, np.array(["a"])):
        with pytest.raises(BufferError):
            stream.device.register_host(wrong)
    with pytest.raises(ValueError):
        stream.device.register_host(np.empty(0))
