#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/porting.md with headers: porting.py [CUDA_INCLUDE_FOLDER] [HIP_INCLUDE_FOLDER], either may be empty.

- Every name of Weir's in the tables is in include/weir, as a member of its class.
- Every CUDA name is in cuda.h or cuda_runtime_api.h, and every call of the groups that the page covers is on the page.
- Every HIP name is in HIP's headers, unless the page says that it came with a later release than these headers.
"""
import re
import sys
from pathlib import Path

from pages import prose, root

# Doxygen's groups in the CUDA headers that the page covers whole.
GROUPS = {
    "CUDART_STREAM", "CUDART_EVENT", "CUDART_MEMORY", "CUDART_MEMORY_POOLS", "CUDART_UNIFIED", "CUDART_PEER", "CUDART_GRAPH",
    "CUDART_LIBRARY", "CUDART_EXECUTION", "CUDART_OCCUPANCY", "CUDA_STREAM", "CUDA_EVENT", "CUDA_MEMOP", "CUDA_MEM", "CUDA_VA",
    "CUDA_MALLOC_ASYNC", "CUDA_UNIFIED", "CUDA_PEER_ACCESS", "CUDA_GRAPH", "CUDA_MODULE", "CUDA_MODULE_DEPRECATED", "CUDA_LIBRARY",
    "CUDA_EXEC", "CUDA_OCCUPANCY",
}

PAGE_VERSION = 13000  # the page has the calls of CUDA 13.0: older headers lack some, newer ones have more

page = root / "docs/porting.md"
rows = [(number, [cell.strip() for cell in line.strip().strip("|").split(" | ")])
        for number, line in prose(page.read_text()) if line.startswith("| ")]
errors = []


def error(number, text):
    errors.append(f"docs/porting.md:{number}: {text}")


def words(text):
    return set(re.findall(r"\w+", text))


def read(folder, *names):
    files = [Path(folder) / name for name in names] if folder else []
    return "\n".join(file.read_text(errors="replace") for file in files if file.exists())


# --- Weir: the bodies of its classes, and of its namespaces for free functions.
headers = {path: path.read_text() for path in sorted((root / "include/weir").glob("**/*.hpp"))}
bodies = {"cuda": headers[root / "include/weir/interop/cuda.hpp"], "hip": headers[root / "include/weir/interop/hip.hpp"],
          "weir": "\n".join(headers.values())}
for text in headers.values():
    for match in re.finditer(r"^(?:enum class|class|struct)(?: WEIR_API)? (\w+)[^;{]*\{.*?^\};", text, re.S | re.M):
        bodies[match[1]] = bodies.get(match[1], "") + match[0]

weir_names = 0
for number, cells in rows:
    for code in re.findall(r"`([^`]+)`", cells[-1]):
        for scope, name in re.findall(r"\b(\w+)::(\w+)", code):
            weir_names += 1
            if scope not in bodies:
                error(number, f"there is no {scope} in the headers")
            elif not re.search(rf"\b{name}\b", bodies[scope]):
                error(number, f"{scope} has no {name}")
        for name in re.findall(r"^(\w+)(?:<.*>|s)?$", code):
            weir_names += 1
            if not re.search(rf"\b{name}\b", bodies["weir"]):
                error(number, f"there is no {name} in the headers")

# --- CUDA.
first = [(number, cells) for number, cells in rows if len(cells) == 4 and cells[0] != "CUDA runtime"]
cuda = read(sys.argv[1] if len(sys.argv) > 1 else "", "cuda.h", "cuda_runtime_api.h", "driver_types.h")
written = {name: number for number, cells in first for name in re.findall(r"`((?:cuda|cu|CU_)\w+)`", " ".join(cells[:2]))}
if cuda:
    version = int(re.search(r"#define CUDA_VERSION (\d+)", cuda)[1])
    names = words(cuda)
    for name, number in written.items():
        if version >= PAGE_VERSION and name not in names:
            error(number, f"CUDA's headers have no {name}")
    open_groups = []
    for match in re.finditer(r"\\defgroup (\w+)|/\*\* @\} \*/|(?:CUDARTAPI|CUDAAPI) (cu\w+)\(", cuda):
        if match[1]:
            open_groups.append(match[1])
        elif match[2]:
            if version == PAGE_VERSION and open_groups and open_groups[-1] in GROUPS and match[2] not in written:
                error(1, f"{match[2]} ({open_groups[-1]}) has no row")
        elif open_groups:
            open_groups.pop()

# --- HIP.
hip = read(sys.argv[2] if len(sys.argv) > 2 else "", "hip/hip_runtime_api.h", "hip/driver_types.h")
release = read(sys.argv[2] if len(sys.argv) > 2 else "", "hip/hip_version.h")
if hip and release:
    names = words(hip)
    have = tuple(int(re.search(rf"#define HIP_VERSION_{part}\s+(\d+)", release)[1]) for part in ("MAJOR", "MINOR"))
    for number, cells in first:
        for name, since in re.findall(r"`(hip\w+)`(?: \(([\d.]+)\))?", cells[2]):
            there = name in names
            expected = not since or tuple(int(part) for part in since.split(".")) <= have
            if expected and not there:
                error(number, f"HIP {have[0]}.{have[1]} has no {name}")

print("\n".join(errors))
print(f"{len(rows)} rows, {weir_names} names of Weir's, {len(written)} of CUDA's{'' if cuda else ' (no headers here)'}"
      f"{', HIP compared' if hip and release else ', no HIP headers here'}: {len(errors)} errors")
sys.exit(1 if errors or not weir_names else 0)
