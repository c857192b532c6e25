#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the list of codes, include/weir/errors.h, with docs/errors.md, which has one row for each code and no others. Names are
those in C, and the classes are those of the Python package."""
import re
import sys

from pages import root

codes = re.findall(r"^  X\((\d+), (\w+), (\w+), (\w+), ", (root / "include/weir/errors.h").read_text(), re.M)
rows = re.findall(r"^\| `(\w+)` \|", (root / "docs/errors.md").read_text(), re.M)
classes = re.findall(r"^class (\w+)\(", (root / "bindings/python/weir/errors.py").read_text(), re.M)
flaws = [f"docs/errors.md: there is no code {row}" for row in rows if row not in {name for _, name, _, _ in codes}]
for place, (number, name, in_c, of_python) in enumerate(codes, 1):
    if rows.count(name) != 1:
        flaws.append(f"docs/errors.md: {name} has {rows.count(name)} rows")
    if (int(number), name.upper()) != (place, in_c):
        flaws.append(f"include/weir/errors.h: {name} is {number} and {in_c}; expected are {place} and {name.upper()}")
    if of_python not in classes:
        flaws.append(f"bindings/python/weir/errors.py: there is no class {of_python}, for {name}")
print(*flaws, f"{len(codes)} codes, {len(rows)} rows", sep="\n")
sys.exit(1 if flaws or not codes else 0)
