#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/museum.md of the comments at the top of examples/museum/*.cpp: museum.py [--check | --run FOLDER NAME…].

A comment names the project and its thread; then come Wrong, Cost, Here, Race and Shake. With --check the page is compared
instead. With --run the programs in FOLDER, a build's bin, are run with the tools, on the host backend: all, or those
named. The exit status is then 1 if a tool says something else than the comment.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

docs = Path(__file__).resolve().parent.parent
page = docs / "museum.md"
FIELDS = ["Wrong", "Cost", "Here", "Race", "Shake"]
SCHEDULES = {  # the variables of a run
    "random": lambda seed: {"WEIR_SCHEDULE": f"{seed}"},
    "pct": lambda seed: {"WEIR_SCHEDULE": f"pct:{seed}"},
    "plain": lambda seed: {},
}

INTRODUCTION = """\
# Museum: stream-order bugs of real projects

For those who look for a stream-order bug, or who judge the tools. Each row is a bug that a project has published, rebuilt on Weir from
the thread's description. The programs are in [examples/museum](../examples/museum), each in a broken and a fixed version. Find the row
that resembles your bug, read what the tools report, and run it:

```console
$ WEIR_BACKEND=host WEIR_TOOLS=race build/bin/museum_rmm_2490 broken
$ weir shake --seeds=20 -- build/bin/museum_rmm_2490 broken
```

- [`race`](tools.md#race-missing-waits-the-stream-sanitizer) finds {found} of the {all} on a CPU, even if the run's result is right. The
  column has the two operations of its report.
- [`shake`](shake.md) makes {shown} of the {all} return a wrong result within 20 seeds, with random schedules
  or with priorities (`--schedule=pct`). Without it, {hidden} of them were right in 20 of 20 runs.
- [`weir race --witness`](race.md#a-witness-for-each-race) runs the two operations of a report in both orders. It shows 31 of the bugs
  with one seed, and NCCL #1976, whose ranks are threads, in some runs.
- On the fixed versions `race` reports nothing, and no seed fails.

`ctest -R museum` tests all of this except the numbers in the last column, which `docs/tools/museum.py --run build/bin` counts. "Cost" is
from the thread.

On an H200 (driver 580.159.04) `race` found the same 32, and reported nothing on the fixed versions. There, 5 of the 32 returned a wrong
result in 5 runs without a tool. NVIDIA's compute-sanitizer (`--tool memcheck --track-stream-ordered-races all`) distinguished the broken
version from the fixed one in 4 cases: cudf #21908, nvMolKit #55, openvdb #2287 and TensorRT-LLM #15265.

| project, thread | bug | cost | report of `race` | wrong results under `shake` |
|---|---|---|---|---|
"""


def exhibit(path):
    """{"name", "thread", "url"} and the fields."""
    lines = path.read_text().splitlines()
    comment = []
    for line in lines[2:]:
        if not line.startswith("//"):
            break
        comment.append(line[2:].strip())
    fields = {"name": path.stem}
    match = re.match(r"(.+ #\d+): (https://\S+)$", comment[0])
    assert match, f"{path.name} does not begin with 'PROJECT #NUMBER: URL'"
    fields["thread"], fields["url"] = match.groups()
    field = None
    for line in comment[2:]:
        if match := re.match(rf"({'|'.join(FIELDS)}): (.*)", line):
            field = match[1]
            fields[field] = match[2]
        else:
            assert field, f"{path.name}: '{line}' belongs to no field"
            fields[field] += "\n" + line if field == "Race" else " " + line
    missing = [field for field in FIELDS if field not in fields]
    assert not missing, f"{path.name} does not say {missing}"
    return fields


def exhibits():
    return [exhibit(path) for path in sorted((docs.parent / "examples" / "museum").glob("*.cpp"))]


def race_of(fields):
    """The two operations, or None; and what else the field says."""
    said, _, rest = fields["Race"].partition("\n")
    match = re.match(r"(.+), then (.+)$", said)
    return (match.groups() if match else None), (rest.replace("\n", " ") if match else fields["Race"].replace("\n", " "))


def row(fields):
    pair, rest = race_of(fields)
    race = " ".join([*([f"`{pair[0]}`, then `{pair[1]}`"] if pair else []), *([rest] if rest else [])])
    project = f"[{fields['thread']}]({fields['url']}), [program](../examples/museum/{fields['name']}.cpp)"
    cells = [project, fields['Wrong'], fields["Cost"], race, fields["Shake"]]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def seeds(fields):
    """How many of 20 runs fail, as the comment says: with random and with pct schedules, and without one."""
    match = re.fullmatch(r"(\d+) of 20 seeds, pct (\d+); without it (\d+) of 20 runs", fields["Shake"])
    assert match, f"{fields['name']}.cpp does not say 'Shake: NUMBER of 20 seeds, pct NUMBER; without it NUMBER of 20 runs'"
    return dict(zip(["random", "pct", "plain"], map(int, match.groups())))


def make(all_fields):
    found = sum(race_of(fields)[0] is not None for fields in all_fields)
    counts = [seeds(fields) for fields in all_fields]
    shown = sum(count["random"] + count["pct"] > 0 for count in counts)
    hidden = sum(count["plain"] == 0 for count in counts)
    return (INTRODUCTION.format(found=found, all=len(all_fields), shown=shown, hidden=hidden) +
            "".join(row(fields) for fields in all_fields))


def run(folder, all_fields):
    """Runs all versions with the tools; returns whether they say what the comments say."""
    def program(fields, version, **environment):
        return subprocess.run([folder / f"museum_{fields['name']}", version], capture_output=True, text=True, timeout=120,
                              env=os.environ | {"WEIR_BACKEND": "host"} | environment)

    right, found, silent, shown = True, 0, 0, 0
    print(f"{'':32} {'race':10} {'random':>8} {'pct':>8} {'plain':>8}   fixed")
    for fields in all_fields:
        pair, _ = race_of(fields)
        errors = program(fields, "broken", WEIR_TOOLS="race").stderr
        reports = re.findall(r"  first: (.*)\n(?:    .*\n)*  second: (.*)", errors)
        if pair:
            is_told = any(first.startswith(pair[0] + " ") and second.startswith(pair[1] + " ") for first, second in reports)
            race = "found" if is_told else "OTHERWISE"
        else:
            is_told, race = not reports, "OTHERWISE" if reports else "nothing"
        if not is_told:
            print(*(f"  reported: {first} | {second}" for first, second in reports), sep="\n")
        failures = {kind: sum(program(fields, "broken", **schedule(seed)).returncode != 0 for seed in range(1, 21))
                    for kind, schedule in SCHEDULES.items()}
        fixed = [program(fields, "fixed", WEIR_TOOLS="race"),
                 *(program(fields, "fixed", **schedule(seed)) for schedule in SCHEDULES.values() for seed in range(1, 21))]
        is_silent = all(one.returncode == 0 and one.stdout == "right\n" for one in fixed) and not fixed[0].stderr
        said = seeds(fields)
        is_shown = (failures["random"] + failures["pct"] > 0) == (said["random"] + said["pct"] > 0)
        print(f"{fields['name']:32} {race:10} {failures['random']:8} {failures['pct']:8} {failures['plain']:8}   "
              f"{'silent, right' if is_silent else 'WRONG'}{'' if is_shown else ', SHAKE OTHERWISE'}")
        right = right and is_told and is_silent and is_shown
        found += bool(pair and is_told)
        silent += is_silent
        shown += failures["random"] + failures["pct"] > 0
    print(f"of {len(all_fields)}: race found {found}, fixed versions silent and right {silent}, wrong results shown {shown}")
    return right


made = make(exhibits())
if sys.argv[1:2] == ["--run"] and len(sys.argv) > 2:
    wanted = sys.argv[3:]
    chosen = [fields for fields in exhibits() if not wanted or fields["name"] in wanted]
    sys.exit(0 if run(Path(sys.argv[2]), chosen) else 1)
elif sys.argv[1:] == ["--check"]:
    if not page.exists() or page.read_text() != made:
        sys.exit("museum.md: not what examples/museum says; run docs/tools/museum.py")
else:
    page.write_text(made)
