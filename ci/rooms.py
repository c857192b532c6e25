#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each room includes only the rooms it may, and that the names in docs/internals.md, docs/source-tree.md and
docs/stories.md exist.

rooms.py [FOLDER]    checks the tree in FOLDER (default: this one); exits 1 if an include violates the table, or if a page
                     names a file, a folder or an identifier that the tree does not have
rooms.py --table     prints the table for docs/source-tree.md

A file belongs to the room with the longest matching path. Every room may include the public headers, its own files, and the
rooms in the table. ci/rooms.exceptions lists includes that violate it; a line without such an include is an error.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

PUBLIC = "include"
ROOMS = {
    "include": "",
    "core/base": "",
    "core/plugins": "core/base",
    "core/runtime": "core/base core/plugins",
    "core/saved": "core/base core/plugins core/runtime",
    "core/diagnosis": "core/base core/plugins core/runtime",
    "kernels": "core/base",
    "backends/cache": "core/base",
    "backends/gpu": "core/base kernels backends/cache",
    "backends/cuda": "core/base kernels backends/cache backends/gpu",
    "backends/hip": "core/base kernels backends/cache backends/gpu",
    "backends/host/run": "core/base kernels",
    "backends/host/compile": "core/base kernels backends/cache backends/host/run",
    "backends/host/engine": "core/base kernels backends/host/run",
    "backends/host/graph": "core/base backends/host/run backends/host/engine",
    "backends/host/schedule": "core/base backends/host/engine",
    "backends/host/runtime": "core/base kernels backends/cache backends/host/run backends/host/compile backends/host/engine "
                             "backends/host/graph backends/host/schedule",
    "collectives": "core/base core/plugins core/runtime collectives/host collectives/store",
    "collectives/host": "core/base collectives",
    "collectives/store": "core/base collectives",
    "collectives/nccl": "core/base collectives",
    "collectives/mpi": "core/base collectives collectives/host",
    "collectives/gloo": "core/base collectives collectives/host",
    "bindings/c": "",
    "bindings/python": "",
    "cudart": "kernels",
    "tools": "core/base core/saved kernels backends/cache",
}
# Tests and programs may include any room: tests use internals, and programs use only public headers anyway.
FREE = ("tests/", "bench/", "examples/", "docs/", "cmake/")


def room_of(path):
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default=None)


def includes(root, file):
    for line in (root / file).read_text(encoding="utf-8").splitlines():
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        target = match.group(1)
        if "/" not in target:  # a file in the same folder
            continue
        yield ("include/" + target) if target.startswith("weir/") else target


def table():
    rows = [f"| `{room}` | {', '.join(f'`{name}`' for name in allowed.split()) or '–'} |\n" for room, allowed in ROOMS.items()
            if room != PUBLIC]
    return "| room | may also include |\n|---|---|\n" + "".join(rows)


def missing_names(root, files, page):
    """Returns the words in code style on the page, `like_this`, that are neither a path nor an identifier of the sources."""
    paths = set(files)
    for file in files:
        paths.update(str(parent) for parent in pathlib.PurePath(file).parents)
    words = set()
    for file in files:
        if not file.endswith(".md"):
            words.update(re.findall(r"\w+", (root / file).read_text(encoding="utf-8", errors="ignore")))
    for text in re.findall(r"`([^`\n]+)`", page):
        if re.fullmatch(r"[\w*-]+(/[\w.*-]+)+|[\w*-]+\.(cpp|hpp|py|sh|\*)", text):  # a path or the end of a path
            pattern = "*/" + text
            found = any(fnmatch.fnmatchcase("/" + path, pattern) for path in paths)
        elif re.fullmatch(r"\w+(::\w+)*(\(\))?", text):
            found = words.issuperset(re.findall(r"\w+", text))
        else:
            continue
        if not found:
            yield text


def main():
    if sys.argv[1:] == ["--table"]:
        print(table(), end="")
        return 0
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True,
                            text=True, check=True).stdout.split("\0")
    everything = [file for file in listed if (root / file).is_file()]
    files = [file for file in everything if file.endswith((".cpp", ".hpp", ".c", ".h"))]
    lines = (root / "ci/rooms.exceptions").read_text(encoding="utf-8").split("\n")
    excepted = {line for line in lines if line and not line.startswith("#")}
    against, seen, bad = [], set(), 0
    for file in files:
        if file.startswith(FREE):
            continue
        room = room_of(file)
        if room is None:
            print(f"{file} is in no room: name its room in ci/rooms.py")
            bad += 1
            continue
        for target in includes(root, file):
            other = room_of(target)
            if other in (room, PUBLIC) or other in ROOMS[room].split() or (other is None and not (root / target).exists()):
                continue
            edge = f"{file} -> {target}"
            seen.add(edge)
            if edge not in excepted:
                against.append(edge)
    for edge in against:
        print(f"{edge}: {room_of(edge.split(' -> ')[0])} may not include {room_of(edge.split(' -> ')[1])}")
    for edge in sorted(excepted - seen):
        print(f"{edge}: no such include any more; delete the line in ci/rooms.exceptions")
        bad += 1
    rows = table()
    for page in ("docs/internals.md", "docs/stories.md", "docs/source-tree.md"):
        text = (root / page).read_text(encoding="utf-8")
        for name in missing_names(root, everything, text):
            print(f"{page} names `{name}`, which is not in the sources")
            bad += 1
    if rows not in text:
        print("docs/source-tree.md has another table of rooms; rooms.py --table prints this one")
        bad += 1
    return 1 if against or bad else 0


if __name__ == "__main__":
    sys.exit(main())
