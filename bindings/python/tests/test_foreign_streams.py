# SPDX-License-Identifier: Apache-2.0
"""Tests streams of other libraries, with stand-ins for these streams. peers.py uses the real libraries."""
import ctypes
import gc
import sys
import threading
import time
import types
import weakref

import pytest

import weir
from weir import interop


class Stand:
    """A stream of another library."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


SHAPES = {
    "an integer": lambda handle: handle,
    "__cuda_stream__, a method": lambda handle: Stand(__cuda_stream__=lambda: (0, handle)),
    "__cuda_stream__, a tuple": lambda handle: Stand(__cuda_stream__=(0, handle)),
    "torch, warp": lambda handle: Stand(cuda_stream=handle),
    "cupy": lambda handle: Stand(ptr=handle, device_id=-1),
    "numba": lambda handle: Stand(handle=ctypes.c_void_p(handle)),
}


@pytest.fixture
def device():
    return weir.Device("host")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stream_is_known_by(shape, device):
    stream = device.create_stream()
    theirs = SHAPES[shape](stream.handle)
    assert weir.Stream.wrap(theirs, device) == stream
    opened = threading.Event()
    stream.launch_host_func(lambda: opened.wait(10))
    waiting = device.create_stream()
    waiting.wait(theirs)
    waiting.launch_host_func(lambda: None)
    assert not waiting.is_done
    opened.set()
    waiting.sync(timeout=10)
    buffer = device.allocate(4)
    buffer.copy_from(bytes(4), stream=theirs)  # functions accept other libraries' streams


def test_null_is_the_default_stream(device):
    for null in (0, Stand(ptr=0), Stand(handle=ctypes.c_void_p(None)), Stand(cuda_stream=0)):
        assert weir.Stream.wrap(null, device) == device.default_stream


def test_what_is_no_stream(device):
    for nothing in ("stream", True, Stand(), device):
        with pytest.raises(TypeError, match="not a stream"):
            weir.Stream.wrap(nothing, device)
    with pytest.raises(TypeError, match="not a stream"):
        device.create_stream().wait("stream")


def test_a_wrapped_object_is_kept(device):
    stream = device.create_stream()
    theirs = Stand(ptr=stream.handle)
    dead = weakref.ref(theirs)
    ours = weir.Stream.wrap(theirs, device)
    del theirs
    gc.collect()
    time.sleep(0.02)
    assert dead() is not None
    del ours
    end = time.monotonic() + 10
    while dead() is not None:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_only_cuda_streams_have_the_protocol(device):
    with pytest.raises(TypeError, match="backend"):
        device.create_stream().__cuda_stream__()


@pytest.fixture
def torch(monkeypatch, device):
    """A stand-in with the parts of PyTorch that the tested functions use."""
    current = []
    cuda = types.SimpleNamespace(
        current_stream=lambda device=None: current[-1],
        default_stream=lambda index: ("default", index),
        ExternalStream=lambda handle, device: Stand(cuda_stream=handle, device=Stand(index=device)),
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    return current


def test_torchs_current_stream_is_weirs(torch):
    device = weir.Device()  # PyTorch's devices are those of the default backend
    theirs = device.create_stream()
    torch.append(Stand(cuda_stream=theirs.handle, device=Stand(index=0)))
    with interop.torch_stream() as stream:
        assert stream == theirs == weir.get_current_stream(device)
    assert weir.get_current_stream(device) == device.default_stream


def test_weirs_stream_for_torch(torch, device):
    stream = device.create_stream()
    theirs = interop.as_torch(stream)
    assert theirs.cuda_stream == stream.handle and theirs.device.index == 0
    assert theirs.weir_stream is stream  # it owns the handle
    assert interop.as_torch(device.default_stream) == ("default", 0)


def test_the_names_that_are_promised():
    assert all(callable(getattr(interop, name)) for name in interop.__all__)


@pytest.mark.parametrize("fails", [False, True])
def test_cuda_cores_current_device_stays(fails, device, monkeypatch):
    class Device:
        current = 3

        def __init__(self, number=None):
            self.number = Device.current if number is None else number

        def set_current(self):
            Device.current = self.number

        def create_stream(self, stream):
            assert Device.current == self.number == 0
            if fails:
                raise RuntimeError
            return stream

    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.core", Stand(Device=Device))
    stream = device.create_stream()
    if fails:
        with pytest.raises(RuntimeError):
            interop.as_cuda_core(stream)
    else:
        assert interop.as_cuda_core(stream) is stream
    assert Device.current == 3
