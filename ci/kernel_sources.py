#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collects the kernels in this tree's documentation: the corpus, the recipes, the examples and the gallery.

kernel_sources.py FOLDER    writes each source into FOLDER, one file each; prints how many there are

A source is a .cu file, or a raw string of C++ or Python that has a __global__ function.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("tests/kernels/corpus/*.cu", "docs/recipes/*.c*", "docs/recipes-python/*.py", "docs/gallery/*.py", "examples/*/*.c*",
         "examples/*/*.py")
# Not for Weir: these launch kernels by <<<…>>>, or contain templates with missing values.
NOT_FOR_WEIR = ("examples/cuda/", "examples/interop_cuda/")
STRING = re.compile(r'R"(\w*)\((.*?)\)\1"|r?"""(.*?)"""', re.S)


def sources(text, suffix):
    if suffix in (".cu", ".cuh"):
        return [text]
    found = [match.group(2) or match.group(3) or "" for match in STRING.finditer(text)]
    return [source for source in found if re.search(r"__global__\s+void", source)]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for pattern in FILES:
        for file in sorted(ROOT.glob(pattern)):
            name = str(file.relative_to(ROOT))
            if name.startswith(NOT_FOR_WEIR):
                continue
            for number, source in enumerate(sources(file.read_text(encoding="utf-8"), file.suffix)):
                own_name = name.startswith("tests/") or file.suffix == ".cuh"  # a header is found by its own name
                to = file.name if own_name else re.sub(r"[/.]", "_", name) + (f"_{number}" if number else "") + ".cu"
                (folder / to).write_text(source, encoding="utf-8")
                count += file.suffix != ".cuh"
    print(f"{count} sources")
    return 0 if count > 60 else 1


if __name__ == "__main__":
    sys.exit(main())
