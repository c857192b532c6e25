#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/porting-tables.md, docs/porting-libraries.md and docs/porting.md with headers:
porting.py [--newest] [CUDA_FOLDER] [HIP_FOLDER], either may be empty.

- Every name of Weir's in the tables is in include/weir, as a member of its class. Where there is none, the reason stands.
- Every function of the headers is in a row: by its name, or by a pattern (`cuTexRef*`) that stands for a family.
- Every name in a row is in the headers, unless the page says that it came with a later release than these headers.

HIP_FOLDER has hip/hip_runtime_api.h, or is the unpacked wheel rocm-bindings-hip, which declares the same functions for Cython.
Headers of older releases lack some functions of the page, and those of newer ones have more: they are asked what they can tell.
With --newest, the headers are all there is, and are asked everything: also whether they have what the backends call, and whether
each pattern still stands for something.
"""
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

from pages import prose, root

# The first and the last release all of whose functions the page has, and a release that has the names without a number.
CUDA, HIP = ((13, 0), (13, 5)), ((6, 2), (10, 0))
OLDEST = {"cu": (13, 0), "hip": (5, 2)}

CUDA_HEADERS = ["cuda.h", "cuda_runtime_api.h", "cuda_runtime.h", "driver_types.h", "cudaProfiler.h", "cuda_profiler_api.h",
                "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cuda_gl_interop.h", "cuda_egl_interop.h", "cuda_vdpau_interop.h"]
HIP_HEADERS = ["hip/hip_runtime_api.h", "hip/driver_types.h", "hip/hip_ext.h", "hip/hip_gl_interop.h", "hip/hiprtc.h",
               "rocm/bindings/cyhip.pxd", "rocm/bindings/cyhiprtc.pxd"]
CUDA_FUNCTION = r"\b(?:CUDAAPI|CUDARTAPI(?:_CDECL)?)\s+(cu\w+)\s*\("
HIP_FUNCTION = r"^(?:cdef |[\w \"]*\b(?:hipError_t|hiprtcResult|int|void|char)\b)[^(;{}\n]*?\b(hip\w+)\s*\("

newest = sys.argv[1:2] == ["--newest"]
folders = [Path(folder) if folder else None for folder in [*sys.argv[2 if newest else 1:], "", ""][:2]]
rows = [(f"{page}:{number}", [cell.strip() for cell in line.strip().strip("|").split(" | ")])
        for page in ("docs/porting.md", "docs/porting-tables.md", "docs/porting-libraries.md")
        for number, line in prose((root / page).read_text(encoding="utf-8")) if line.startswith("| ")]
calls = [(number, cells) for number, cells in rows if len(cells) == 4 and cells[0] != "CUDA runtime"]
errors = []


def error(number, text):
    errors.append(f"{number}: {text}")


def names_of(vendor, cells_of_vendor):
    """The names and patterns that begin so, in the tables: (number of the line, name, a release that has it)."""
    return [(number, name, tuple(map(int, release.split("."))) if release else OLDEST[vendor]) for number, cells in calls
            for name, release in re.findall(rf"`({vendor}[\w*]+)`(?: \(([\d.]+)\))?", " ".join(cells[cells_of_vendor]), re.I)]


def without_old(text):
    """cuda.h without what it declares again for programs of older releases."""
    lines, depth = [], 0
    for line in text.splitlines():
        if depth:
            depth += bool(re.match(r" *# *if", line)) - bool(re.match(r" *# *endif", line))
        elif line.rstrip() == "#if defined(__CUDA_API_VERSION_INTERNAL)":
            depth = 1
        else:
            lines.append(line)
    return "\n".join(lines)


def read(folder, names):
    """The code of the headers in a folder, as one text."""
    files = [folder / name for name in names if (folder / name).exists()] if folder else []
    text = "\n".join(without_old(file.read_text(errors="replace")) for file in files)
    return re.sub(r"/\*.*?\*/|//[^\n]*|^#(?! *define)[^\n]*", "", text, flags=re.S | re.M)


def base(function):
    """cuStreamQuery for cuStreamQuery_ptsz: the name without the kind of default stream, or of the properties' structure."""
    return re.sub(r"(_ptsz|_ptds|_spt|R0[06]00)$", "", function)


def compare(vendor, have, known, text, declaration, written):
    """Compares the headers of the release `have`; `written` is what names_of gives. Returns how many there are."""
    functions = {base(name) for name in re.findall(declaration, text, re.M)}
    words = {base(word) for word in re.findall(r"\w+", text)}
    patterns = {name for _, name, _ in written if "*" in name}
    by_name = functions & {base(name) for _, name, _ in written}
    missing = sorted(name for name in functions - by_name if not any(fnmatchcase(name, pattern) for pattern in patterns))
    symbols = (root / f"backends/{vendor.lower()}/symbols.hpp").read_text(encoding="utf-8")
    used = {base(name) for name in re.findall(r"^  [XY]\(\w+, (\w+),", symbols, re.M)}
    release = f"{vendor} {have[0]}.{have[1]}"
    for number, name, since in written:
        there = any(fnmatchcase(word, name) for word in words) if "*" in name else base(name) in words
        if not there and (newest or "*" not in name and since <= have):
            error(number, f"{release} has no {name}")
    if newest or known[0] <= have <= known[1]:
        for name in missing:
            error("docs/porting-tables.md:1", f"{name} of {release} is in no row")
    if newest:
        for name in sorted(used - words):
            error("docs/porting-tables.md:1", f"{release} has no {name}, which the backend calls")
    return (f"{release}: {len(functions)} functions, of which the backend calls {len(functions & used)}; {len(by_name)} are in "
            f"rows by name, {len(functions - by_name) - len(missing)} by pattern, {len(missing)} in none")


# --- Weir: the bodies of its classes, and of its namespaces for free functions.
headers = {path: path.read_text(encoding="utf-8") for path in sorted((root / "include/weir").glob("**/*.hpp"))}
bodies = {"cuda": headers[root / "include/weir/interop/cuda.hpp"], "hip": headers[root / "include/weir/interop/hip.hpp"],
          "weir": "\n".join(headers.values())}
for text in headers.values():
    for match in re.finditer(r"^(?:enum class|class|struct)(?: WEIR_API| \[\[\w+\]\])* (\w+)[^;{]*\{.*?^\};", text, re.S | re.M):
        bodies[match[1]] = bodies.get(match[1], "") + match[0]

weir_names = 0
for number, cells in rows:
    if cells[-1] == "–":
        error(number, "Weir has nothing for it, and no reason is given")
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

told = []
# --- CUDA.
cuda = read(folders[0], CUDA_HEADERS)
if cuda:
    version = int(re.search(r"#define CUDA_VERSION (\d+)", cuda)[1])
    written = names_of("cu", slice(2))
    told.append(compare("CUDA", (version // 1000, version % 1000 // 10), CUDA, cuda, CUDA_FUNCTION, written))

# --- HIP.
hip = read(folders[1], HIP_HEADERS)
if hip:
    wheel = next((match for file in folders[1].glob("*.dist-info") if (match := re.search(r"-(\d+)\.(\d+)", file.name))), None)
    release = (folders[1] / "hip/hip_version.h").read_text() if not wheel else ""
    have = tuple(int(wheel[part] if wheel else re.search(rf"#define HIP_VERSION_{name}\s+(\d+)", release)[1])
                 for part, name in ((1, "MAJOR"), (2, "MINOR")))
    written = names_of("hip", slice(2, 3))
    if wheel:  # it has functions, but no macros
        written = [each for each in written if each[1] not in ("hipStreamLegacy", "hipStreamPerThread")]
    told.append(compare("HIP", have, HIP, hip, HIP_FUNCTION, written))

print("\n".join([*errors, *told, f"{len(rows)} rows, {weir_names} names of Weir's; "
                 f"{'' if cuda else 'no headers of CUDA, '}{'' if hip else 'no headers of HIP, '}{len(errors)} errors"]))
sys.exit(1 if errors or not weir_names else 0)
