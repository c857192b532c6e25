# SPDX-License-Identifier: Apache-2.0
"""Tests the names and lines that tools show for a Python program."""

import os
import subprocess
import sys

import pytest

import weir


def run(tmp_path, name, program, *arguments, tools="race", **environment):
    """Runs the program, as a file of that name, with tools. Returns its path, its exit status and its errors."""
    file = tmp_path / name
    file.write_text(program)
    environment = {**os.environ, "WEIR_TOOLS": tools, **environment}
    done = subprocess.run([sys.executable, file, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    return file, done.returncode, done.stderr


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
    trace = tmp_path / "trace.pftrace"
    _, status, errors = run(tmp_path, "functions.py", FUNCTIONS, tools="timeline", WEIR_TIMELINE=str(trace))
    assert status == 0, errors
    for name in (b"decode", b"encode"):
        assert name in trace.read_bytes()


def test_race_shows_lines_of_python(tmp_path):
    program, status, errors = run(tmp_path, "pipeline.py", PROGRAM)
    assert status == 66, errors
    for line in ("load {}:7", "compute {}:9", "<module> {}:10", "<module> {}:4"):
        assert line.format(program) in errors, errors
    assert "of 'weights'" in errors, errors


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
    for operation, expected in (("atomicAdd", 0), ("atomicExch", 66)):
        _, status, errors = run(tmp_path, "histogram.py", HISTOGRAM, operation)
        assert status == expected, errors


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
    _, status, errors = run(tmp_path, "views.py", RACING_VIEW)
    assert status == 66
    assert "look" in errors and "views.py:8" in errors, errors
    assert "_PyEval" not in errors


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
    _, status, errors = run(tmp_path, "stale.py", STALE.replace("x.get()", "x.get(stream=stream)") if waits else STALE)
    assert status == (0 if waits else 66), errors
    assert waits or "stale.py:8" in errors and "stale.py:9" in errors, errors
