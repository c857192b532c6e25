#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/cuda-programs.md from the table of calls, cudart/include/weir_cuda_calls.def.

cuda_calls.py           writes the tables
cuda_calls.py --check   exits 1 if they are out of date
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/cuda-programs.md"
BEGIN, END = "<!-- Made by docs/tools/cuda_calls.py: begin -->\n", "<!-- end -->\n"


def marked(note):
    return note.replace("<<<…>>>", "`<<<…>>>`")


def rows():
    """Returns pairs of a section's name and its calls, and a dictionary from reasons to missing names."""
    text = (ROOT / "cudart/include/weir_cuda_calls.def").read_text(encoding="utf-8")
    sections, missing, title, why = [], {}, "", ""
    pattern = re.compile(r'^// --- (?P<title>.*)$|^#define WEIR_CUDA_WHY "(?P<why>.*)"$|\bWEIR_CUDA_NO(_TYPE)?\((?P<name>cuda\w+)\)|'
                         r'^WEIR_CUDA_(?P<kind>\w+)\((?P<body>(?:[^"\n]|"[^"]*"|\n)*?)\)\n', re.M)
    for match in pattern.finditer(text):
        if match["title"]:
            title = match["title"].strip()
            continue
        if match["why"] or match["name"]:
            why = match["why"] or why
            missing.setdefault(marked(why), []).extend([match["name"]] if match["name"] else [])
            continue
        body, kind = match["body"], match["kind"]
        note = marked("".join(re.findall(r'"([^"]*)"', body)))
        words = body.split(",")
        if kind in ("MISSING", "MISSING_TYPE"):
            missing.setdefault(note, []).append(words[0].strip())
        elif kind.endswith("CALL") and len(words) > 1 and words[1].strip().startswith("cuda"):
            if not sections or sections[-1][0] != title:
                sections.append((title, []))
            sections[-1][1].append((words[1].strip(), note))
    return sections, missing


def tables():
    sections, missing = rows()
    text = ""
    for title, calls in sections:
        text += f"**{title}**\n\n| call | what it does |\n|---|---|\n"
        text += "".join(f"| `{name}` | {note} |\n" for name, note in calls) + "\n"
    text += "**Not there: a use is a compile error**\n\n| reason | calls and types |\n|---|---|\n"
    text += "".join(f"| {note} | {', '.join(f'`{name}`' for name in names)} |\n" for note, names in missing.items())
    return text


def main():
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    made = before + BEGIN + "\n" + tables() + "\n" + END + rest.split(END)[1]
    if made == page:
        return 0
    if sys.argv[1:] == ["--check"]:
        print(f"{PAGE.relative_to(ROOT)} is out of date: run docs/tools/cuda_calls.py")
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


sys.exit(main())
