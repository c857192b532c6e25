#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/errors.md with the codes of include/weir/error.hpp: each has a row, once, and there are no others."""
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
print(f"{len(codes)} codes, {len(rows)} rows")
sys.exit(0 if sorted(codes) == sorted(rows) and codes else 1)
