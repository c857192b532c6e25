# SPDX-License-Identifier: Apache-2.0
"""Builds saxpy.cpp and calls it: saxpy.py WEIR, the folder that Weir is installed in (~/weir)."""
import sys
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

weir, here = Path(sys.argv[1]).resolve(), Path(__file__).parent
lib = next(weir.glob("lib*/**/libweir.so")).parent
with_cuda = torch.version.cuda is not None
extension = load("weir_saxpy", [str(here / "saxpy.cpp")], with_cuda=with_cuda,
                 extra_cflags=["-std=c++20", f"-I{weir / 'include'}"] + ["-DWITH_CUDA"] * with_cuda,
                 extra_ldflags=[f"-L{lib}", "-lweir", f"-Wl,-rpath,{lib}"])

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
x = extension.ones(1 << 20, device)
y = torch.full_like(x, 0.5)
extension.saxpy(2.0, x, y)  # ordered between PyTorch's earlier and later work
print(f"{y.mean().item()} on {device}")

if device.type == "cuda":
    # In a CUDA graph of PyTorch, the launch is a node.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        extension.saxpy(2.0, x, y)
    graph.replay()
    print(f"{y.mean().item()} after a replay")
