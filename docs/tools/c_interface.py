#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/c.md with the C interface: each function of include/weir/c has its place in the table of names, and is called in
tests/c, by a test or by the adapter for the conformance suite. Features have the same numbers as in C++."""
import re
import sys

from pages import root

page = (root / "docs/c.md").read_text(encoding="utf-8")
headers = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "include/weir/c").glob("*.h")))
tests = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests/c").glob("**/*.[ch]*")))
functions = re.findall(r"WEIR_C_API [^;(]*?\b(weir_\w+)\(", headers)
said = set(re.findall(r"`(weir_\w+)`", page))
errors = []
for name in functions:
    if name not in said and not name.endswith(("_retain", "_release", "_native_handle")):
        errors.append(f"{name} is not in the table of names")
    if not re.search(rf"\b{name}\b", tests):
        errors.append(f"{name} is not called in tests/c")
errors += [f"there is no function {name}" for name in sorted(said - set(functions) - set(re.findall(r"\bweir_\w+", headers)))
           if name not in ("weir_c_tests", "weir_c_conformance")]
features = re.findall(r"^  X\((\w+), ", (root / "include/weir/feature.hpp").read_text(encoding="utf-8"), re.M)
numbered = [(name.upper(), str(number)) for number, name in enumerate(features)]
errors += [f"WEIR_FEATURE_{name} = {number} is in one of weir/c/feature.h and weir/feature.hpp alone"
           for name, number in set(re.findall(r"^  WEIR_FEATURE_(\w+) = (\d+),", headers, re.M)) ^ set(numbered)]
for error in errors:
    print(f"docs/c.md: {error}")
print(f"{len(functions)} functions")
sys.exit(1 if errors or not functions else 0)
