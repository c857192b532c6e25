# SPDX-License-Identifier: Apache-2.0
#
# How do I load a .cu file in Python that was compiled ahead of time?
#
# `weir-kernels`, which is installed with the library, compiles it for each architecture without a GPU, and puts the
# images into a bundle ([ahead of time](ahead-of-time.md)). `weir.load` takes the image that fits the device, and
# compiles the source in the bundle if none does.
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import weir

if shutil.which("weir-kernels") is None:
    raise SystemExit(77)  # skipped
with tempfile.TemporaryDirectory() as folder:
    source, image, bundle = (pathlib.Path(folder, name) for name in ("triple.cu", "triple.host", "triple.bundle"))
    source.write_text('extern "C" __global__ void triple(float* x) { x[threadIdx.x] *= 3; }')
    subprocess.run(["weir-kernels", "image", "--for", "host x86-64", "--output", image, source], check=True)
    subprocess.run(["weir-kernels", "bundle", "--output", bundle, source, image], check=True)
    triple = weir.load(bundle.read_bytes())["triple"]

device = weir.Device()
with device.create_stream() as stream:
    x = device.allocate(16, weir.float32).copy_from(np.arange(16, dtype=np.float32))
    weir.launch(stream, weir.LaunchConfig(1, 16), triple, x)
    assert (x.get() == 3 * np.arange(16)).all()
