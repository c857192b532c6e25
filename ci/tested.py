#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the list of tested machines: docs/tested.md and docs/tested/history.md, made from the rows in docs/tested/*.json.

    tested.py                  writes both pages
    tested.py --check          fails if they are not up to date
    tested.py row REPORT MACHINE [WHAT]
                               prints a row for a report that weir-conformance --json wrote on this checkout;
                               MACHINE in words: "1 × NVIDIA H200". Save it as a file in docs/tested

A row is an object of texts: machine, backend, driver, commit, what, result, and optionally date. A file holds one or a list. The newest
row of a machine and backend also has `brief` and `brief_result`, of one line each, and `brief_driver` if the driver takes more: these
rows are docs/tested.md, and the history has all.
"""
import json
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
columns = ["machine", "backend", "driver", "commit", "what", "result"]
optional = ["date", "brief", "brief_result", "brief_driver"]

head = """<!-- Made by ci/tested.py from docs/tested/*.json; changes go there. -->
# What ran on what

For those who ask whether Weir ran on hardware like theirs: the newest run on each machine, by backend.
[The history](tested/history.md) has all runs. Anything else has not been run.

**No AMD GPU has run any of this.** The HIP backend ran against Debian's runtime without a device, against stand-ins for the
runtimes of 6.2 to 10.0, on NVIDIA GPUs through a bridge that presents CUDA's driver as `libamdhip64`, and against AMD's runtime over
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


def table(chosen, names):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in chosen:
        lines.append("| " + " | ".join(row[name].replace("|", "\\|") for name in names) + " |")
    return "\n".join(lines) + "\n"


def pages():
    """The text of each page that is made."""
    names = columns[:-2] + ["brief", "brief_result"]
    newest = [row | {"driver": row.get("brief_driver", row["driver"])} for row in rows() if "brief" in row]
    history = "<!-- Made by ci/tested.py from docs/tested/*.json; changes go there. -->\n# What ran on what: all runs\n\n" \
              "One row for each machine and commit, the newest first in each file. [The newest of each](../tested.md).\n\n"
    # A row's links are relative to docs/.
    everything = table(rows(), columns).replace("](", "](../")
    return {root / "docs/tested.md": head + table(newest, names),
            root / "docs/tested/history.md": history + everything.replace("](../http", "](http")}


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
    if not arguments:
        for target, text in pages().items():
            target.write_text(text, encoding="utf-8")
    elif arguments == ["--check"]:
        for target, text in pages().items():
            if not target.exists() or target.read_text(encoding="utf-8") != text:
                sys.exit(f"{target} is not what its rows say; run ci/tested.py")
    elif arguments[0] == "row" and len(arguments) in (3, 4):
        print(json.dumps(row_of(*arguments[1:]), ensure_ascii=False, indent=2))
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
