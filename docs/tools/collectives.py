#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the measured part of docs/collectives-performance.md, with its pictures, from the results in docs/collectives/*.json.

    collectives.py                     writes it
    collectives.py --check             fails if it is not what would be written
    collectives.py --add RESULTS NAME  keeps RESULTS, which bench/collectives.sh wrote, as docs/collectives/NAME.json, and writes
"""
import re
import sys

from pages import pages_of_results, root
from performance import COLOURS, Picture, curves, number, size, table

folder = root / "docs/collectives"
page = root / "docs/collectives-performance.md"
BEGIN, END = "<!-- Made by docs/tools/collectives.py: begin -->", "<!-- Made by docs/tools/collectives.py: end -->"
KINDS = {"one_process": "one process", "processes": "a process for each"}


def bus(row, side, ranks):
    """GB/s on the slowest link, as nccl-tests counts."""
    us = row.get(f"{side}_us")
    return row["bytes"] * (2 * (ranks - 1) / ranks if ranks > 1 else 1) / us * 1e-3 if us else None


def model(measured):
    """(a in µs, b in GB/s) of a ring: the least time is 2 (n - 1) a, the most bytes show b."""
    n = measured["ranks"]
    return (min(row["weir_us"] for row in measured["all_reduce"]) / (2 * (n - 1)),
            bus(measured["all_reduce"][-1], "weir", n))


def bandwidth_section(name, results, pictures):
    kinds = [kind for kind in KINDS if results.get(kind)]
    torch = results.get("torch")
    torch_us = {row["bytes"]: row["torch_us"] for row in torch["all_reduce"]} if torch else {}
    rows, lines = {}, {}
    head = ["bytes"]
    for kind in kinds:
        measured = results[kind]
        n = measured["ranks"]
        has_raw = any(row["raw_us"] for row in measured["all_reduce"])
        compares = bool(torch_us) and kind == "processes"
        has_model = n > 1 and kind == kinds[-1]
        head.append(f"{KINDS[kind]}, GB/s")
        if has_raw:
            head.append("÷ raw")
        if compares:
            head.append("÷ PyTorch")
        if has_model:
            a, b = model(measured)
            head += ["µs", "µs by the model"]
        for row in measured["all_reduce"]:
            speed, raw = bus(row, "weir", n), bus(row, "raw", n)
            cells = rows.setdefault(row["bytes"], [size(row["bytes"])])
            cells.append(number(speed))
            lines.setdefault(f"Weir, {KINDS[kind]}", []).append((row["bytes"], speed))
            if has_raw:
                cells.append(f"{speed / raw:.2f}" if raw else "–")
            if compares:
                other = bus({"bytes": row["bytes"], "torch_us": torch_us.get(row["bytes"])}, "torch", n)
                cells.append(f"{speed / other:.2f}" if other else "–")
                if other:
                    lines.setdefault("PyTorch", []).append((row["bytes"], other))
            if has_model:
                cells += [number(row["weir_us"]), number(2 * (n - 1) * a + row["bytes"] * 2 * (n - 1) / n / b * 1e-3)]
    large = {line: [point for point in points if point[0] >= 4096] for line, points in lines.items()}
    pictures[f"{name}-all_reduce.svg"] = curves("all_reduce: bus bandwidth, GB/s", large, "bytes", lambda value: f"{value:g}")
    text = f"\n![all_reduce by size](collectives/{name}-all_reduce.svg)\n\n" + table(head, [rows[b] for b in sorted(rows)])
    for kind in kinds:
        cost = results[kind]["enqueue"]
        line = f"Enqueuing, {KINDS[kind]}: {number(cost['weir_us'])} µs"
        if cost["raw_us"]:
            line += f", the library's own call {number(cost['raw_us'])} µs (ratio {cost['weir_us'] / cost['raw_us']:.3f})"
        if torch and kind == "processes":
            line += f", PyTorch {number(torch['enqueue']['torch_us'])} µs"
        text += f"\n{line}.\n"
    if results[kinds[-1]]["ranks"] > 1:
        a, b = model(results[kinds[-1]])
        text += f"\nThe model's column is a ring with a = {number(a)} µs, of the quickest, and b = {number(b)} GB/s, of the largest.\n"
    return text


def heat_section(name, rows, pictures):
    first = {row["side"]: row["ms"] for row in rows if row["ranks"] == 1}
    rows = [row for row in rows if row["side"] in first]
    cells, picture = [], Picture(640, 60 + 26 * len(rows), "Heat equation, weak scaling: efficiency")
    for i, row in enumerate(rows):
        efficiency, y = first[row["side"]] / row["ms"], 40 + 26 * i
        how = f"{row['ranks']} rank{'s' if row['ranks'] > 1 else ''}, {row['processes']} process{'es' if row['processes'] > 1 else ''}"
        how += "" if row["overlaps"] else ", one stream"
        cells.append([how, f"{row['side']}³", f"{row['ms']:.3f}", f"{100 * efficiency:.1f} %"])
        picture.text(190, y + 14, how, "end")
        picture.bar(200, y, 300 * min(efficiency, 1.2), 18, COLOURS[1 if not row["overlaps"] else 0 if row["processes"] == 1 else 2])
        picture.text(206 + 300 * min(efficiency, 1.2), y + 14, f"{100 * efficiency:.1f} %")
    pictures[f"{name}-heat.svg"] = str(picture)
    return ("\nThe [heat equation](../examples/collectives/heat.cpp), whose exchange of halos overlaps with computing; each rank has as "
            f"many cells, whatever the number of ranks. On one stream nothing overlaps.\n\n![Weak scaling](collectives/{name}-heat.svg)\n\n"
            + table(["", "cells of a rank", "ms a step", "efficiency"], cells))


def made(files):
    """{path below the root: text} of all that is made."""
    text, pictures = "", {}
    for name, results in files.items():
        some = results.get("one_process") or results.get("processes")
        text += f"\n### {results.get('title') or some['device']}, {some['ranks']} ranks\n\n"
        text += f"{some['library'].split(' (')[0]}; {results['cores']} cores of the CPU; {results['date']}."
        text += (f" {results['note']}" if results.get("note") else "") + "\n"
        text += bandwidth_section(name, results, pictures)
        if results.get("heat"):
            text += heat_section(name, results["heat"], pictures)
    old = page.read_text(encoding="utf-8")
    pages = {f"docs/collectives/{name}": str(picture) for name, picture in pictures.items()}
    pages["docs/collectives-performance.md"] = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: f"{BEGIN}\n{text}\n{END}", old,
                                          flags=re.S)
    return pages


if __name__ == "__main__":
    pages_of_results(sys.argv[1:], __doc__, folder, made, "docs/tools/collectives.py")
