# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import weir


def test_a_copy_there_and_back():
    device = weir.Device()
    with device.create_stream() as stream:
        assert weir.get_current_stream(device) == stream
        numbers = np.arange(1000, dtype=np.float32).reshape(10, 100)
        buffer = device.allocate((10, 100), weir.float32).copy_from(numbers)
        other = stream.allocate(4000).copy_from(buffer)
        stream.record().sync()
        assert (other.get().view(np.float32).reshape(10, 100) == numbers).all()
        assert (buffer.get() == numbers).all()
    assert weir.get_current_stream(device) == device.default_stream


@pytest.mark.parametrize(
    "call",
    [
        lambda device: weir.LaunchConfig("ab", 1),
        lambda device: device.allocate((2.0,)),
        lambda device: weir.Stream.wrap(-1, device),
        lambda device: device.create_stream(priority=1.5),
        lambda device: weir.compile("", device, debug="yes"),
        lambda device: weir.launch(-1, weir.LaunchConfig(1, 1), None),
    ],
)
def test_wrong_arguments_are_type_errors(call):
    with pytest.raises(TypeError):
        call(weir.Device())


def test_objects_that_only_new_made_are_refused():
    def empty(cls):
        return cls.__new__(cls)

    device = weir.Device()
    stream, config = device.create_stream(), weir.LaunchConfig(1, 1)
    kernel = weir.compile('extern "C" __global__ void f(int* x) { *x = 1; }', device)["f"]
    with pytest.raises(BufferError):
        memoryview(empty(weir.Buffer))
    for arguments in (
        (empty(weir.Stream), config, kernel, None),
        (stream, empty(weir.LaunchConfig), kernel, None),
        (stream, config, empty(weir.Kernel), None),
        (stream, config, kernel, empty(weir.Buffer)),
    ):
        with pytest.raises(TypeError):
            weir.launch(*arguments)
    with pytest.raises(TypeError):
        empty(weir.Stream).add_callback(print)


def test_errors_have_classes():
    stream = weir.Device().create_stream()
    stream.close()
    with pytest.raises(weir.StreamClosedError) as caught:
        stream.sync()
    assert caught.value.code == "stream_closed"
    with pytest.raises(ValueError):
        weir.Device(1000)


def test_names():
    device = weir.Device()
    stream = device.create_stream()
    assert stream.name == ""
    stream.name = "copies"
    assert stream.name == "copies"
    assert "'copies'" in repr(stream)
    event = stream.record()
    event.name = "ready"
    assert event.name == "ready"
    buffer = device.allocate(16)
    buffer.name = "weights"
    assert buffer[:4].name == "weights"
    del event, buffer
    assert stream.record().name == ""
    assert device.allocate(16).name == ""


def test_integers_of_numpy_are_integers():
    device = weir.Device(np.int64(0))
    x = device.allocate(np.prod((2, 3)), weir.float32)
    assert x.shape == (6,)
    assert weir.LaunchConfig(np.int64(4), np.uint8(32)).grid == (4, 1, 1)
    assert weir.LaunchConfig((np.int32(4), 2), 32).grid == (4, 2, 1)
    assert weir.grid_for(np.int64(1000)).grid == (4, 1, 1)
    device.create_stream(priority=np.int64(0))
    assert x.view(weir.uint8, np.int16(24)).shape == (24,)
    stream = device.create_stream()
    assert weir.Stream.wrap(np.uint64(stream.handle), device) == stream
