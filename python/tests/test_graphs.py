# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

import weir


def graph_of(device, function):
    with weir.capture(device.create_stream()) as captured:
        captured.stream.launch_host_func(function)
    return captured.graph


def test_an_update_brings_the_functions_of_its_source():
    def fail():
        raise ValueError("second")

    device = weir.Device()
    stream = device.create_stream()
    seen = []
    graph = graph_of(device, lambda: seen.append("first"))
    graph.launch(stream)
    stream.sync()
    graph.update(graph_of(device, fail))
    graph.launch(stream)
    with pytest.raises(ValueError, match="second"):
        stream.sync()
    assert seen == ["first"]


def test_updates_beside_launches():
    device = weir.Device()
    graph = graph_of(device, int)
    ended = threading.Event()

    def update():
        while not ended.is_set():
            graph.update(graph_of(device, int))

    thread = threading.Thread(target=update)
    thread.start()
    try:
        stream = device.create_stream()
        for _ in range(300):
            graph.launch(stream)
            assert graph.nodes
        stream.sync(timeout=60)
    finally:
        ended.set()
        thread.join()
