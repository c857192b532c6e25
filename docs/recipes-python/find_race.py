# SPDX-License-Identifier: Apache-2.0
#
# How do I find a missing wait between two streams in Python?
#
# With the tool `race`, which finds it in any run, even if the result is right: `WEIR_TOOLS=race python program.py`. It
# names the two lines, and the remedy ([tools](tools.md)). This program runs another one that has such a mistake.
import os
import subprocess
import sys

PROGRAM = """
import weir

device = weir.Device()
loader, worker = device.create_stream(), device.create_stream()
x, y = device.allocate(4096), device.allocate(4096)
x.fill(1, stream=loader)
y.copy_from(x, stream=worker)  # worker.wait(loader) is missing
device.sync()
"""
environment = {**os.environ, "WEIR_TOOLS": "race"}
done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, stderr=subprocess.PIPE, text=True)
print(done.stderr)
assert done.returncode == 66 and "nothing orders them" in done.stderr and '"<string>"' not in done.stderr
