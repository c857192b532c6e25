# SPDX-License-Identifier: Apache-2.0
"""Runs the code in the right column of the tables of docs/python-porting.md, one row after another, in its own process."""

import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import weir

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python-porting.md"
CODE = """
__device__ float factor = 2;
extern "C" __global__ void scale(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}"""


def test_the_tables(tmp_path):
    if weir.Device().backend != "host" and sum(d.backend == weir.Device().backend for d in weir.Device.get_all_devices()) < 2:
        pytest.skip("the tables name two devices")
    environment = {**os.environ, "WEIR_HOST_DEVICES": "2", "WEIR_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-X", "dev", pathlib.Path(__file__).resolve()]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 210


def names():
    """What the page assumes to exist."""
    device, peer = weir.Device(0), weir.Device(1)
    s, t = device.create_stream(), device.create_stream()
    a, b = s.record(timing_enabled=True), s.record(timing_enabled=True)
    s.sync()
    x, y = device.allocate(256, weir.float32), device.allocate(256, weir.float32)
    pinned, managed = (device.allocate(256, weir.float32, kind=kind) for kind in ("pinned", "managed"))
    flag = device.allocate(1, weir.uint32)
    array = numpy.ones(256, numpy.float32)
    theirs, code, config, pool = s.handle, CODE, weir.grid_for(256), device.default_memory_pool
    module = weir.compile(CODE, device)
    kernel = module.get_kernel("scale", (weir.int32, weir.ptr[weir.float32]))
    with weir.capture(s, portable=True) as captured:
        weir.launch(s, config, kernel, 256, x)
        node = s.last_captured_node
    graph, changes = captured.graph, weir.GraphChanges(device)
    image = next(path for path in pathlib.Path(os.environ["WEIR_CACHE_DIR"]).rglob("*") if path.is_file()).read_bytes()

    def body(stream):
        y.fill(1)

    otherwise = body
    return {**globals(), **locals()}


def run(row):
    """Runs the code of a row and returns the number of pieces."""
    there = names()
    count = 0
    for code in re.findall(r"`([^`]+)`", row):
        first = re.match(r"(?:with |del |len\()?(\w+)\b(?!=)", code)
        if first is None or first[1] not in there or code == first[1]:
            continue
        statement = f"{code}\n    pass" if code.endswith(":") else code
        try:
            if ".capture_" in code:
                with weir.capture(there["s"]):
                    exec(statement, there)
            else:
                exec(statement, there)
        except weir.UnsupportedError as error:  # between processes, on the CPU
            assert "interprocess" in str(error), row
        count += 1
    there["s"].sync()
    return count


def main():
    total = 0
    rows = re.findall(r"^\| (?!cuda\.core \d|CuPy \d|numba-cuda|PyTorch \d|Warp \d)(.*) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    for theirs, ours in rows:
        if ours.startswith(("–", "`WEIR_TOOLS")):
            continue
        try:
            count = run(ours)
        except Exception as error:
            error.add_note(f"{theirs} -> {ours}")
            raise
        assert count, f"{theirs} -> {ours}: nothing to run"
        total += count
    print(total)


if __name__ == "__main__":
    main()
