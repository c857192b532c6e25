#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each question in answers.txt has its heading, on a page that is at most two links away from the README."""
import sys

from pages import headings, links, root

near = {root / "README.md"}
for _ in range(2):
    near |= {target for page in near for _, link in links(page.read_text())
             if (target := (page.parent / link.split("#")[0]).resolve()).suffix == ".md" and target.exists()}

asked, failed = set(), 0
for line in (root / "docs/tools/answers.txt").read_text().splitlines():
    if line.startswith("#"):
        continue
    question, answer = line.split(" -> ")
    asked.add(question)
    file, anchor = answer.split("#")
    page = root / file
    why = (f"there is no {file}" if not page.exists() else f"{file} has no such heading"
           if anchor not in {found for *_, found in headings(page.read_text())} else f"{file} is more than two links from the README"
           if page not in near else "")
    if why:
        failed += 1
        print(f"'{question}' -> {answer}: {why}")
print(f"{len(asked)} questions, {failed} without an answer")
sys.exit(1 if failed or len(asked) < 26 else 0)
