#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares include/weir/error.hpp with docs/errors.md, which has one row for each code and no others, and with the results of the C
interface, which have the same numbers and names."""
import re
import sys

from pages import root

header = (root / "include/weir/error.hpp").read_text()
codes = re.findall(r"^  (\w+)(?: = 1)?, *///<", re.search(r"enum class Errc.*?\{(.*?)\n\};", header, re.S)[1], re.M)
rows = re.findall(r"^\| `(\w+)` \|", (root / "docs/errors.md").read_text(), re.M)
for code in codes:
    if rows.count(code) != 1:
        print(f"docs/errors.md: {code} has {rows.count(code)} rows")
for row in rows:
    if row not in codes:
        print(f"docs/errors.md: there is no code {row}")
results = re.findall(r"^  WEIR_ERROR_(\w+) = (\d+),", (root / "include/weir/c/base.h").read_text(), re.M)
results.remove(("UNKNOWN", "999"))
numbered = [(code.upper(), str(number)) for number, code in enumerate(codes, 1)]
for name, number in set(results) ^ set(numbered):
    print(f"WEIR_ERROR_{name} = {number} is in one of include/weir/c/base.h and include/weir/error.hpp alone")
print(f"{len(codes)} codes, {len(rows)} rows, {len(results)} results in C")
sys.exit(0 if sorted(codes) == sorted(rows) and codes and results == numbered else 1)
