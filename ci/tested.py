#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ran on what: docs/tested.md, made from the rows in docs/tested/*.json.

    tested.py                  writes docs/tested.md
    tested.py --check          fails if docs/tested.md is not what would be written
    tested.py row REPORT MACHINE [WHAT]
                               a row, on standard output, of a report that weir-conformance --json wrote on this checkout;
                               MACHINE in words: "1 × NVIDIA H200". To be kept as a file in docs/tested

A row is an object of texts: machine, backend, driver, commit, what, result, and optionally date. A file holds one or a list.
"""
import json
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
columns = ["machine", "backend", "driver", "commit", "what", "result"]
optional = ["date"]

head = """<!-- Made by ci/tested.py from docs/tested/*.json; changes go there. -->
# What ran on what

One row for each machine and commit that was tested. What is not in this table has not been run.

**No AMD GPU has run any of this.** The HIP backend ran against Debian's runtime without a device, against stand-ins for the
runtimes of 5.2 to 10.0, on NVIDIA GPUs through a bridge that presents CUDA's driver as `libamdhip64`, and against AMD's runtime over
an emulated GPU. The workflows for AMD and NVIDIA runners (`.github/workflows/amd.yml`, `nvidia.yml`) have not run either: they
need runners with such devices.

"""


def rows():
    """All rows, in the order of the files' names."""
    found = []
    for file in sorted((root / "docs/tested").glob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for row in content if isinstance(content, list) else [content]:
            missing = [name for name in columns if not isinstance(row.get(name), str) or not row[name]]
            unknown = [name for name in row if name not in columns + optional]
            if missing or unknown:
                sys.exit(f"{file}: a row lacks {missing} and has, beyond what it may, {unknown}")
            found.append(row)
    return found


def page():
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows():
        lines.append("| " + " | ".join(row[name].replace("|", "\\|") for name in columns) + " |")
    return head + "\n".join(lines) + "\n"


def row_of(report_file, machine, what="conformance"):
    report = json.loads(pathlib.Path(report_file).read_text(encoding="utf-8"))
    if not report["usable"]:
        sys.exit(f"{report_file}: the backend was not usable, so nothing ran")

    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout.strip()

    commit = git("rev-parse", "--short", "HEAD")
    if git("status", "--porcelain", "--untracked-files=no"):
        commit += ", changed"
    result = f"{report['passed']} passed, {report['failed']} failed, {report['skipped']} skipped"
    return {"date": git("log", "-1", "--format=%cs"), "machine": machine, "backend": report["backend"],
            "driver": report["version"], "commit": commit, "what": what, "result": result}


def main(arguments):
    target = root / "docs/tested.md"
    if not arguments:
        target.write_text(page(), encoding="utf-8")
    elif arguments == ["--check"]:
        if not target.exists() or target.read_text(encoding="utf-8") != page():
            sys.exit("docs/tested.md is not what its rows say; run ci/tested.py")
    elif arguments[0] == "row" and len(arguments) in (3, 4):
        print(json.dumps(row_of(*arguments[1:]), ensure_ascii=False, indent=2))
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
