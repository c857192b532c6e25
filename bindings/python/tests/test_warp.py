# SPDX-License-Identifier: Apache-2.0
"""Tests Warp's streams, by its documented interface, and its CPU arrays. No GPU is needed, because Warp's calls of its native
library are only recorded. peers.py uses Warp on a GPU."""
import gc
import types

import numpy as np
import pytest

import weir
from weir import interop

warp = pytest.importorskip("warp")
context = pytest.importorskip("warp._src.context")


@pytest.fixture
def asked(monkeypatch):
    """Records Warp's calls to its native library for streams of the device "cuda:0"."""
    warp.init()
    calls = []

    class Core:
        def __getattr__(self, name):
            return lambda *arguments: calls.append((name, *arguments))

    runtime = types.SimpleNamespace(core=Core())
    device = types.SimpleNamespace(is_cuda=True, context="context", runtime=runtime)
    runtime.get_device = {"cuda:0": device}.__getitem__
    monkeypatch.setattr(context, "runtime", runtime)
    return calls


class OfCuda:
    """A Weir stream on the CPU that claims to be a CUDA stream."""

    def __init__(self, stream):
        self.stream, self.device = stream, types.SimpleNamespace(device_id=0)

    def __cuda_stream__(self):
        return 0, self.stream.handle


def test_weirs_stream_in_warp_and_back(asked):
    stream = weir.Device("host").create_stream()
    handle = stream.handle
    ours = OfCuda(stream)
    theirs = interop.as_warp(ours)
    assert isinstance(theirs, warp.Stream) and theirs.cuda_stream == handle and theirs.weir_stream is ours
    assert asked == [("wp_cuda_stream_register", "context", handle)]
    assert weir.Stream.wrap(theirs, stream.device) == stream
    stream.wait(theirs)
    stream.sync()
    # Warp forgets the stream, and does not destroy it.
    del theirs
    gc.collect()
