#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wraps lines over 125 characters like clang-format, and leaves all others unchanged: wrap.py [FILE]…

Without files, all C++ files of the repository. It also wraps kernels in raw strings; wrap other texts there by hand.
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
limit = 125


def wrapped(text):
    for _ in range(3):  # because a wrapped line may still be too long
        long = [number for number, line in enumerate(text.split("\n"), 1) if len(line) > limit]
        if not long:
            break
        text = subprocess.run(["clang-format", f"--assume-filename={root}/a.cpp", *(f"--lines={n}:{n}" for n in long)], input=text,
                              capture_output=True, text=True, check=True).stdout
    return text


def wrapped_strings(text):
    parts, at = [], 0
    for found in re.finditer(r'R"([A-Za-z_]*)\(', text):
        if found.start() < at:
            continue
        end = text.index(")" + found[1] + '"', found.end())
        body = text[found.end():end]
        is_code = re.search(r"__global__|__device__|#define|\binline\b", body)
        parts += [text[at:found.end()], wrapped(body) if is_code else body]
        at = end
    return "".join(parts) + text[at:]


def main(files):
    if not files:
        listed = subprocess.run(["git", "ls-files", "*.cpp", "*.hpp"], cwd=root, capture_output=True, text=True, check=True).stdout
        files = [root / line for line in listed.splitlines()]
    for file in map(pathlib.Path, files):
        text = file.read_text(encoding="utf-8")
        if any(len(line) > limit for line in text.split("\n")):
            file.write_text(wrapped_strings(wrapped(text)), encoding="utf-8")


main(sys.argv[1:])
