#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares this tree's releases of HIP functions with the exports of AMD's libraries.

hip_releases.py HEADERS LIBRARY…    the folder with hip/, and files of libamdhip64 and libhiprtc

Reads backends/hip/symbols.hpp (the floor, and `since` of newer functions) and docs/porting-tables.md (`hipName` (6.4)). A function must be
in each library of its release or a later one, and in none of an older one. Functions and macros that exist only in
headers count as exported from the headers' release on.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def release_of(library):
    """(7, 2) for …/libamdhip64.so.7.2.53211"""
    return tuple(int(part) for part in re.search(r"\.so\.(\d+)\.(\d+)", str(pathlib.Path(library).resolve())).groups())


def exports(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def expected():
    """Yields (where, name, release) for each function with a release."""
    table = (ROOT / "backends/hip/symbols.hpp").read_text(encoding="utf-8")
    floor = int(re.search(r"oldest_release = (\d+)", table).group(1))
    rows = [("symbols.hpp", name, floor) for name in re.findall(r"^  X\(\w+, (\w+)\)", table, re.M)]
    rows += [("symbols.hpp", name, int(since)) for name, since in re.findall(r"^  Y\(\w+, (\w+), (\d+),", table, re.M)]
    page = (ROOT / "docs/porting-tables.md").read_text(encoding="utf-8")
    rows += [("porting-tables.md", name, int(major) * 100 + int(minor))
             for name, major, minor in re.findall(r"`(hip\w+)` \((\d+)\.(\d+)\)", page)]
    return rows


def main():
    headers, libraries = pathlib.Path(sys.argv[1]), sys.argv[2:]
    text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in sorted(headers.glob("hip/**/*.h")))
    declared = set(re.findall(r"\bhip\w+", text))
    version = re.search(r"HIP_VERSION_MAJOR (\d+)[\s\S]*?HIP_VERSION_MINOR (\d+)", text)
    header_release = int(version.group(1)) * 100 + int(version.group(2))
    exported = {}
    for library in libraries:
        major, minor = release_of(library)
        exported.setdefault(major * 100 + minor, set()).update(exports(library))
    newest = max(exported)
    bad, rows = 0, expected()
    for where, name, since in rows:
        for release, names in sorted(exported.items()):
            has = name in names or (name in declared and name not in exported[newest] and header_release >= since)
            if since <= release and not has:
                print(f"{where}: {name} is said to be there since {since // 100}.{since % 100}; {release // 100}.{release % 100} lacks it")
                bad += 1
            if since > release and name in names:
                print(f"{where}: {name} is said to be there since {since // 100}.{since % 100}; {release // 100}.{release % 100} has it")
                bad += 1
    print(f"{len(rows)} functions, {bad} wrong, with HIP {', '.join(f'{r // 100}.{r % 100}' for r in sorted(exported))}")
    return 1 if bad or len(rows) < 150 else 0


if __name__ == "__main__":
    sys.exit(main())
