#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's filter for the pages: writes them with labels that Doxygen knows, since it has none of GitHub's anchors.

Each heading gets the label PAGE--ANCHOR, and links between pages become links to such labels. Links to files that are no pages
(programs, scripts) keep their text only: in the HTML there is nothing to link to. A recipe of the cookbooks is followed by its
program.
"""
import re
import sys
from pathlib import Path

from pages import LINK, headings, label, pages, prose, root, with_programs

path = Path(sys.argv[1]).resolve()
text = re.sub(r"\A(?:<!--.*?-->\s*)+", "", with_programs(path), flags=re.S)  # Doxygen wants the title first


def top(page):
    return headings(page.read_text()).__next__()[3]


def rewritten(match):
    words, target = match[1], match[2]
    if words is None:  # a picture, which Doxygen finds by its name
        return match[0].replace(match[3], match[3].rsplit("/", 1)[-1]) if match[3] else match[0]
    if re.match(r"[a-z]+:", target):
        return match[0]
    file, _, anchor = target.partition("#")
    page = (path.parent / file).resolve() if file else path
    if page not in pages():
        return words
    return f"[{words}](#{label(page, anchor or top(page))})"


if path == root / "README.md":  # find.html: see search.py
    text = re.sub(r"^(# .*\n)", r'\1\n\\htmlonly<p><a href="find.html">Find an answer</a></p>\\endhtmlonly\n', text, count=1)
labels = {number: label(path, anchor) for number, _, _, anchor in headings(text)}
outside_of_code = {number for number, _ in prose(text)}
for number, line in enumerate(text.splitlines(), 1):
    if number in outside_of_code:
        line = LINK.sub(rewritten, line)
        if number in labels:
            line = f"{line} {{#{labels[number]}}}"
    print(line)
