#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what bench/collectives.sh measured, side by side: collectives_table.py FOLDER

FOLDER has one_process.json and processes.json, and torch.json if there is PyTorch.
"""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])


def read(name):
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def number(value, digits=1):
    return "–" if value is None else f"{value:,.{digits}f}"


torch = read("torch.json")
torch_us = {row["bytes"]: row["torch_us"] for row in torch["all_reduce"]} if torch else {}
for name in ("one_process.json", "processes.json"):
    results = read(name)
    if results is None:
        continue
    n = results["ranks"]
    factor = 2 * (n - 1) / n if n > 1 else 1
    print(f"\n{results['library']}, {results['device']}: {n} ranks, {results['ranks_of_a_process']} in a process")
    print("all_reduce, bus bandwidth in GB/s; the ratio is Weir's to the other's")
    print(f"{'bytes':>12} {'Weir':>9} {'raw':>9} {'ratio':>7} {'PyTorch':>9} {'ratio':>7}")
    for row in results["all_reduce"]:
        us = {"weir": row["weir_us"], "raw": row["raw_us"], "torch": torch_us.get(row["bytes"])}
        speed = {side: row["bytes"] * factor / time * 1e-3 if time else None for side, time in us.items()}
        ratio = {side: speed["weir"] / speed[side] if speed[side] else None for side in ("raw", "torch")}
        print(f"{row['bytes']:>12} {number(speed['weir'], 2):>9} {number(speed['raw'], 2):>9} {number(ratio['raw'], 3):>7} "
              f"{number(speed['torch'], 2):>9} {number(ratio['torch'], 3):>7}")
    cost = results["enqueue"]
    line = f"enqueuing: Weir {number(cost['weir_us'], 2)} us, raw {number(cost['raw_us'], 2)} us"
    if cost["raw_us"]:
        line += f", ratio {cost['weir_us'] / cost['raw_us']:.3f}"
    if torch:
        line += f"; PyTorch, one process for each GPU: {number(torch['enqueue']['torch_us'], 2)} us"
    print(line)
