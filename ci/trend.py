#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of benchmarks, night by night: trend.py FOLDER RESULTS COMMIT DATE

Adds RESULTS, a Google Benchmark run as JSON, to FOLDER/history.jsonl, which contains a line for each night, and draws
FOLDER/index.html: the time of each benchmark over the nights, and how the last one compares with the median of the thirty before.
"""
import html
import json
import pathlib
import statistics
import sys

in_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
width, height = 480, 60


def times_of(results):
    """Returns each benchmark's processor time in ns; the median of several repetitions."""
    times = {}
    for run in results["benchmarks"]:
        if run.get("run_type", "iteration") == "iteration" and "error_occurred" not in run:
            times.setdefault(run["run_name"], []).append(run["cpu_time"] * in_ns[run["time_unit"]])
    return {name: statistics.median(values) for name, values in times.items()}


def drawing(values):
    """Draws a line through the existing values, from 0 to a tenth above the greatest."""
    top = 1.1 * max(v for v in values if v is not None)
    step = width / max(1, len(values) - 1)
    points = " ".join(f"{i * step:.1f},{height - v / top * height:.1f}" for i, v in enumerate(values) if v is not None)
    return (f'<svg width="{width}" height="{height}" viewBox="0 -2 {width} {height + 4}">'
            f'<polyline fill="none" stroke="currentColor" points="{points}"/></svg>')


def page(nights):
    rows = []
    for name in sorted({name for night in nights for name in night["times"]}):
        values = [night["times"].get(name) for night in nights]
        before = [v for v in values[-31:-1] if v is not None]
        last = values[-1]
        change = "" if last is None or not before else f"{100 * (last / statistics.median(before) - 1):+.1f} %"
        rows.append(f"<tr><td>{html.escape(name)}<td>{'' if last is None else f'{last:.0f} ns'}<td>{change}<td>{drawing(values)}")
    first, last = nights[0], nights[-1]
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Weir: benchmarks, night by night</title>
<style>body {{ font: 15px sans-serif; margin: 2em }} td {{ padding: 0 1em; vertical-align: middle }}</style>
<h1>Benchmarks, night by night</h1>
<p>{len(nights)} nights, {first["date"]} ({html.escape(first["commit"])}) to {last["date"]} ({html.escape(last["commit"])}): time of the
processor for each operation of weir-bench-host. The change is from the median of the thirty nights before. Nights may run on
different machines, so that a step which all lines take is a machine's.</p>
<table><tr><th>benchmark<th>last night<th>change<th>all nights, from 0
{chr(10).join(rows)}
</table></html>
"""


def main(folder, results, commit, date):
    folder = pathlib.Path(folder)
    history = folder / "history.jsonl"
    times = times_of(json.loads(pathlib.Path(results).read_text(encoding="utf-8")))
    if not times:
        sys.exit(f"{results} has no times of benchmarks")
    with history.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"date": date, "commit": commit, "times": times}) + "\n")
    nights = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    (folder / "index.html").write_text(page(nights), encoding="utf-8")


if len(sys.argv) != 5:
    sys.exit(__doc__)
main(*sys.argv[1:])
