#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares docs/c.md with the C interface: each function of include/weir/c has its place in the table of names, and is called in
tests/c; each row of the contract, S1 to S48, has its place in the table of rows, and each test there is one of tests/c."""
import re
import sys

from pages import root

page = (root / "docs/c.md").read_text(encoding="utf-8")
headers = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "include/weir/c").glob("*.h")))
tests = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests/c").glob("*.c")))
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
rows = re.findall(r"^\| (S[^|:]*)[^|]*\| (.*) \|$", page, re.M)
numbers = [int(number) for row, _ in rows for number in re.findall(r"S(\d+)", row)]
if sorted(numbers) != list(range(1, 49)):
    errors.append("the rows are not S1 to S48, each once")
known = set(re.findall(r'^    \{"(\w+)", "', tests, re.M))
errors += [f"there is no test '{name}'" for _, cell in rows for name in re.findall(r"`(\w+)`", cell) if name not in known]
for error in errors:
    print(f"docs/c.md: {error}")
print(f"{len(functions)} functions, {len(numbers)} rows")
sys.exit(1 if errors or not functions or not known else 0)
