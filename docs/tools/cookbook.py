#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/cookbook.md of the programs in docs/recipes: cookbook.py [--check].

A recipe begins with comments: the question, an empty line, the text. Everything from the first #include on is the program.
order.txt has the chapters. With --check the page is compared instead, and the exit status is 1 if it differs.
"""
import sys
from pathlib import Path

from pages import slug

docs = Path(__file__).resolve().parent.parent
page = docs / "cookbook.md"

INTRODUCTION = """\
# Cookbook

Each recipe answers one question with a whole program: copy it, [link it to Weir](getting-started.md), run it. The programs are the
files of [docs/recipes](recipes); the tests build and run them (`ctest -L recipes`). They return 0 if what they did came out right,
and 77 where the device lacks what they show.
"""


def recipe(name):
    lines = (docs / "recipes" / f"{name}.cpp").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("#include"))
    comment = [line[2:].strip() for line in lines[2:start]]  # line 0: the licence
    question, _, *text = comment
    assert question.endswith("?") and text, f"{name}.cpp does not begin with a question and a text"
    program = "\n".join(lines[start:])
    return f"### {question}\n\n" + "\n".join(text) + f"\n\n[{name}.cpp](recipes/{name}.cpp)\n\n```cpp\n{program}\n```\n", question


def make():
    chapters = []
    for line in (docs / "recipes" / "order.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            chapters[-1][1].extend(line.split())
        else:
            chapters.append((line, []))
    listed = [name for _, names in chapters for name in names]
    there = sorted(path.stem for path in (docs / "recipes").glob("*.cpp"))
    assert sorted(listed) == there, f"order.txt and the files differ: {set(listed) ^ set(there)}"

    contents, bodies = [], []
    for title, names in chapters:
        contents.append(f"\n**{title}**\n")
        bodies.append(f"\n## {title}\n")
        for name in names:
            body, question = recipe(name)
            contents.append(f"- [{question}](#{slug(question)})")
            bodies.append("\n" + body.rstrip("\n"))
    return INTRODUCTION + "\n".join(contents) + "\n" + "\n".join(bodies) + "\n"


made = make()
if "--check" in sys.argv[1:]:
    if page.read_text() != made:
        sys.exit("docs/cookbook.md is not what docs/recipes say: run docs/tools/cookbook.py")
else:
    page.write_text(made)
