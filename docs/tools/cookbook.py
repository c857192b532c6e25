#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/cookbook.md of the programs in docs/recipes: cookbook.py [--check].

A recipe begins with comments: the question, an empty line, the text. Everything from the first #include on is the program.
order.txt has the chapters. In other pages the block of code below <!-- recipe: NAME --> becomes that program. With --check the
pages are compared instead, and the exit status is 1 if one differs.
"""
import re
import sys
from pathlib import Path

from pages import pages, slug

docs = Path(__file__).resolve().parent.parent
page = docs / "cookbook.md"

INTRODUCTION = """\
# Cookbook

Each recipe answers one question with a whole program: copy it, [link it to Weir](getting-started.md), run it. The programs are the
files of [docs/recipes](recipes); the tests build and run them (`ctest -L recipes`). They return 0 if what they did came out right,
and 77 where the device lacks what they show.
"""


def recipe(name):
    """(question, text, program)"""
    lines = (docs / "recipes" / f"{name}.cpp").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("#include"))
    comment = [line[2:].strip() for line in lines[2:start]]  # line 0: the licence
    question, _, *text = comment
    assert question.endswith("?") and text, f"{name}.cpp does not begin with a question and a text"
    return question, "\n".join(text), "\n".join(lines[start:])


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
            question, text, program = recipe(name)
            contents.append(f"- [{question}](#{slug(question)})")
            bodies.append(f"\n### {question}\n\n{text}\n\n[{name}.cpp](recipes/{name}.cpp)\n\n```cpp\n{program}\n```")
    return INTRODUCTION + "\n".join(contents) + "\n" + "\n".join(bodies) + "\n"


def with_recipes(text):
    return re.sub(r"(<!-- recipe: (\w+) -->\n```cpp\n).*?(^```$)", lambda m: f"{m[1]}{recipe(m[2])[2]}\n{m[3]}", text,
                  flags=re.S | re.M)


made = {page: make()} | {other: with_recipes(other.read_text()) for other in pages() if other != page}
differing = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
if "--check" in sys.argv[1:]:
    if differing:
        sys.exit(f"{', '.join(path.name for path in differing)}: not what docs/recipes say; run docs/tools/cookbook.py")
else:
    for path in differing:
        path.write_text(made[path])
