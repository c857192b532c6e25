#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/c.md with the C interface: each function of include/weir/c has its place in the table of names, and is called in
tests/c, by a test or by the adapter for the conformance suite."""
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
    if not re.search(rf"\b{name}\(", tests):
        errors.append(f"{name} is not called in tests/c")
errors += [f"there is no function {name}" for name in sorted(said - set(functions) - set(re.findall(r"\bweir_\w+", headers)))
           if name not in ("weir_c_tests", "weir_c_conformance")]
for error in errors:
    print(f"docs/c.md: {error}")
print(f"{len(functions)} functions")
sys.exit(1 if errors or not functions else 0)
