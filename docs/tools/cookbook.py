#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/cookbook.md of the programs in docs/recipes, and docs/python-cookbook.md of those in docs/recipes-python:
cookbook.py [--check].

A recipe begins with comments: the question, an empty line, the text. Everything after them is the program. The page links to it;
the HTML pages contain the program itself (doxygen_page.py). order.txt has the chapters. Recipes of one name in both folders are
linked to each other. In other pages the block of code below <!-- recipe: NAME --> becomes that program in C++. With --check the
pages are compared instead, and the exit status is 1 if one differs.
"""
import re
import sys
from pathlib import Path

from pages import pages, slug

docs = Path(__file__).resolve().parent.parent

CPP = """\
# Cookbook

Each recipe answers one question with a whole program: copy it, [link it to Weir](getting-started.md), run it. The programs are the
files of [docs/recipes](recipes), linked below each question; the tests build and run them (`ctest -L recipes`). They return 0 if
their result is right, and 77 if the device lacks the feature. Many of them also exist [in Python](python-cookbook.md).
"""

PYTHON = """\
# Python cookbook

Each recipe answers one question with a whole program in [Python](python.md), which checks its result against numpy: copy it and run
it. The programs are the files of [docs/recipes-python](recipes-python), linked below each question; the tests run them
(`ctest -L recipes`). They end with 77 if the device lacks the feature. The chapters are those of the [cookbook for C++](cookbook.md).
There is no recipe for an all-reduce, because [Python lacks](python.md#what-python-lacks) collectives.
"""


class Book:
    """The recipes of a folder, and the page that is made of them."""

    def __init__(self, page, folder, suffix, comment, language, introduction):
        self.page, self.folder, self.suffix, self.comment = docs / page, docs / folder, suffix, comment
        self.language, self.introduction = language, introduction
        self.chapters = []
        for line in (self.folder / "order.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            if line.startswith(" "):
                self.chapters[-1][1].extend(line.split())
            else:
                self.chapters.append((line, []))
        self.names = [name for _, names in self.chapters for name in names]
        there = sorted(path.stem for path in self.folder.glob(f"*.{suffix}"))
        assert sorted(self.names) == there, f"order.txt and the files differ: {set(self.names) ^ set(there)}"

    def recipe(self, name):
        """(question, text, program)"""
        lines = (self.folder / f"{name}.{self.suffix}").read_text().splitlines()
        start = next(i for i, line in enumerate(lines) if line and not line.startswith(self.comment))
        comment = [line[len(self.comment):].strip() for line in lines[2:start] if line]  # line 0: the licence
        question, _, *text = comment
        assert question.endswith("?") and text, f"{name}.{self.suffix} does not begin with a question and a text"
        return question, "\n".join(text), "\n".join(lines[start:])

    def link_to(self, name):
        return f"{self.page.name}#{slug(self.recipe(name)[0])}"

    def make(self, other):
        contents, bodies = [], []
        for title, names in self.chapters:
            contents.append(f"\n**{title}**\n")
            bodies.append(f"\n## {title}\n")
            for name in names:
                question, text, _ = self.recipe(name)
                file = f"[{name}.{self.suffix}]({self.folder.name}/{name}.{self.suffix})"
                twin = f" · [in {other.title}]({other.link_to(name)})" if name in other.names else ""
                contents.append(f"- [{question}](#{slug(question)})")
                bodies.append(f"\n### {question}\n\n{text}\n\n{file}{twin}")
        return self.introduction + "\n".join(contents) + "\n" + "\n".join(bodies) + "\n"

    @property
    def title(self):
        return {"cpp": "C++", "python": "Python"}[self.language]


cpp = Book("cookbook.md", "recipes", "cpp", "//", "cpp", CPP)
python = Book("python-cookbook.md", "recipes-python", "py", "#", "python", PYTHON)


def with_recipes(text):
    return re.sub(r"(<!-- recipe: (\w+) -->\n```cpp\n).*?(^```$)", lambda m: f"{m[1]}{cpp.recipe(m[2])[2]}\n{m[3]}", text,
                  flags=re.S | re.M)


made = {cpp.page: cpp.make(python), python.page: python.make(cpp)}
made |= {other: with_recipes(other.read_text()) for other in pages() if other not in made}
differing = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
if "--check" in sys.argv[1:]:
    if differing:
        sys.exit(f"{', '.join(path.name for path in differing)}: not what the recipes say; run docs/tools/cookbook.py")
else:
    for path in differing:
        path.write_text(made[path])
