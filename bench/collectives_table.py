#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the measurements of bench/collectives.sh side by side, and collects them in FOLDER/results.json: collectives_table.py FOLDER

FOLDER contains the files of those parts of the script that ran. docs/tools/collectives.py makes a page of the results.
"""
import datetime
import json
import os
import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])


def read(name):
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def number(value, digits=1):
    return "–" if value is None else f"{value:,.{digits}f}"


def heat():
    """Returns the times of the heat equation, by ranks and processes."""
    rows = []
    for path in sorted(folder.glob("heat_*.txt")):
        text = path.read_text(encoding="utf-8")
        found = re.search(r"^(.*): (\d+) ranks x (\d+)\^3 cells, \d+ steps: ([0-9.]+) ms a step$", text, re.MULTILINE)
        if found and "every cell is right" in text:
            ranks = int(found[2])
            rows.append({"ranks": ranks, "processes": ranks if "processes" in path.stem else 1, "side": int(found[3]),
                         "overlaps": "one_stream" not in path.stem, "ms": float(found[4])})
    return sorted(rows, key=lambda row: (not row["overlaps"], row["processes"] > 1, row["ranks"]))


torch = read("torch.json")
results = {"date": datetime.date.today().isoformat(), "cores": os.cpu_count(), "one_process": read("one_process.json"),
           "processes": read("processes.json"), "torch": torch, "heat": heat()}
(folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
torch_us = {row["bytes"]: row["torch_us"] for row in torch["all_reduce"]} if torch else {}
for name in ("one_process", "processes"):
    measured = results[name]
    if measured is None:
        continue
    n = measured["ranks"]
    factor = 2 * (n - 1) / n if n > 1 else 1
    print(f"\n{measured['library']}, {measured['device']}: {n} ranks, {measured['ranks_of_a_process']} in a process")
    print("all_reduce, bus bandwidth in GB/s; the ratio is Weir's to the other's")
    print(f"{'bytes':>12} {'Weir':>9} {'raw':>9} {'ratio':>7} {'PyTorch':>9} {'ratio':>7}")
    for row in measured["all_reduce"]:
        us = {"weir": row["weir_us"], "raw": row["raw_us"], "torch": torch_us.get(row["bytes"])}
        speed = {side: row["bytes"] * factor / time * 1e-3 if time else None for side, time in us.items()}
        ratio = {side: speed["weir"] / speed[side] if speed[side] else None for side in ("raw", "torch")}
        print(f"{row['bytes']:>12} {number(speed['weir'], 2):>9} {number(speed['raw'], 2):>9} {number(ratio['raw'], 3):>7} "
              f"{number(speed['torch'], 2):>9} {number(ratio['torch'], 3):>7}")
    cost = measured["enqueue"]
    line = f"enqueuing: Weir {number(cost['weir_us'], 2)} us, raw {number(cost['raw_us'], 2)} us"
    if cost["raw_us"]:
        line += f", ratio {cost['weir_us'] / cost['raw_us']:.3f}"
    if torch:
        line += f"; PyTorch, one process for each GPU: {number(torch['enqueue']['torch_us'], 2)} us"
    print(line)
for row in results["heat"]:
    first = next((other for other in results["heat"] if other["ranks"] == 1 and other["side"] == row["side"]), None)
    efficiency = f", efficiency {first['ms'] / row['ms']:.3f}" if first else ""
    print(f"heat, {row['ranks']} ranks in {row['processes']} processes, {row['side']}^3 cells each"
          f"{'' if row['overlaps'] else ', nothing overlaps'}: {row['ms']:.3f} ms a step{efficiency}")
