# SPDX-License-Identifier: Apache-2.0
"""Tests the names and lines that tools show for a Python program."""

import os
import subprocess
import sys

import pytest

import weir

PROGRAM = """
import weir
device = weir.Device()
x, y = (device.allocate(4096) for _ in range(2))
x.name = "weights"
def load(stream):
    x.copy_from(y, stream=stream)
def compute(stream):
    y.copy_from(x, stream=stream)
load(device.create_stream())
compute(device.create_stream())
device.sync()
"""


FUNCTIONS = """
import weir
device = weir.Device()
x, y = (device.allocate(4096) for _ in range(2))
stream = device.create_stream()
def decode():
    pass
stream.launch_host_func(decode)
stream.launch_host_func(decode, name="encode")
stream.sync()
"""


def test_timeline_has_the_names_of_functions(tmp_path):
    program, trace = tmp_path / "functions.py", tmp_path / "trace.pftrace"
    program.write_text(FUNCTIONS)
    settings = {"WEIR_TOOLS": "timeline", "WEIR_TIMELINE": str(trace)}
    subprocess.run([sys.executable, program], env={**os.environ, **settings}, check=True, timeout=60)
    for name in (b"decode", b"encode"):
        assert name in trace.read_bytes()


def test_race_shows_lines_of_python(tmp_path):
    program = tmp_path / "pipeline.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, program], env={**os.environ, "WEIR_TOOLS": "race"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 66, done.stderr
    for line in ("load {}:7", "compute {}:9", "<module> {}:10", "<module> {}:4"):
        assert line.format(program) in done.stderr, done.stderr
    assert "of 'weights'" in done.stderr, done.stderr


HISTOGRAM = """
import sys
import weir
device = weir.Device()
count = weir.compile('''
extern "C" __global__ void count(int* bins, const int* values) { OPERATION(&bins[values[threadIdx.x] & 7], 1); }
''', define_macro={"OPERATION": sys.argv[1]}).get_kernel("count")
bins, values = device.allocate(8, weir.int32), device.allocate(64, weir.int32)
for stream in (device.create_stream(), device.create_stream()):
    weir.launch(stream, weir.LaunchConfig(1, 64), count, bins, values)
device.sync()
"""


def test_kernels_that_only_add_do_not_race(tmp_path):
    kernel = weir.compile('extern "C" __global__ void nothing() {}').get_kernel("nothing")
    if kernel.attributes["tier"] != "workgroup":
        pytest.skip("only the work-group pass tells what a kernel does with its memory")
    program = tmp_path / "histogram.py"
    program.write_text(HISTOGRAM)
    environment = {**os.environ, "WEIR_TOOLS": "race"}
    for operation, status in (("atomicAdd", 0), ("atomicExch", 66)):
        done = subprocess.run(
            [sys.executable, program, operation], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == status, done.stderr


RACING_VIEW = """
import numpy, weir
device = weir.Device()
x = device.allocate(64, weir.int32, kind="pinned")
stream = device.create_stream()
x.fill(1, stream=stream)
def look():
    return numpy.asarray(x)
look()
"""


def test_a_race_with_a_view_of_the_host_names_the_python_line(tmp_path):
    program = tmp_path / "views.py"
    program.write_text(RACING_VIEW)
    environment = {**os.environ, "WEIR_TOOLS": "race"}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 66
    assert "look" in done.stderr and "views.py:8" in done.stderr, done.stderr
    assert "_PyEval" not in done.stderr


STALE = """
import weir
device = weir.Device()
stream = device.create_stream()
x = device.allocate(1 << 20)
x.fill(0)
device.sync()
x.fill(1, stream=stream)
x.get()
"""


@pytest.mark.parametrize("waits", [False, True])
def test_a_get_that_does_not_name_the_writers_stream_races(tmp_path, waits):
    program = tmp_path / "stale.py"
    program.write_text(STALE.replace("x.get()", "x.get(stream=stream)") if waits else STALE)
    environment = {**os.environ, "WEIR_TOOLS": "race"}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == (0 if waits else 66), done.stderr
    assert waits or "stale.py:8" in done.stderr and "stale.py:9" in done.stderr, done.stderr
