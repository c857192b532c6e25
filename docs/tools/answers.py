#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each question in answers.txt has its heading, on a page that is at most two links away from the README."""
import sys

from pages import headings, links, root


def linked(page):
    """The pages that a page has links to."""
    targets = ((page.parent / link.split("#")[0]).resolve() for _, link in links(page.read_text()))
    return {target for target in targets if target.suffix == ".md" and target.exists()}


near = {root / "README.md"}
for _ in range(2):
    near |= set().union(*map(linked, near))


def mistake(answer):
    file, anchor = answer.split("#")
    if not (root / file).exists():
        return "there is no such page"
    if anchor not in {found for *_, found in headings((root / file).read_text())}:
        return "there is no such heading"
    return "" if root / file in near else "the page is more than two links away from the README"


asked, failed = set(), 0
for line in (root / "docs/tools/answers.txt").read_text().splitlines():
    if line.startswith("#"):
        continue
    question, answer = line.split(" -> ")
    asked.add(question)
    if why := mistake(answer):
        failed += 1
        print(f"'{question}' -> {answer}: {why}")
print(f"{len(asked)} questions, {failed} without an answer")
sys.exit(1 if failed or len(asked) < 26 else 0)
