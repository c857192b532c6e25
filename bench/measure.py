#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Weir's cost on this machine against other libraries, in one run: measure.py --bin=FOLDER --out=FILE [--part=PART]…

  --bin=FOLDER     the folder of a build's programs weir-bench-…, which find their libraries as linked, or in FOLDER/../lib
  --out=FILE       the output file, JSON; docs/tools/performance.py makes pages from it
  --part=PART      only that part; may be given several times: calls, scaling, peers, kernels
  --rounds=N       how often the programs of a comparison take turns (3); the result is the median of the rounds
  --kernels=OPTION an option of weir-bench-kernels, such as --kernels=--processor-time; may be given several times
  --before=FOLDER  the programs of an earlier commit, built with this one's bench/; its kernels take turns with this one's

  calls    each call on CUDA and HIP against the driver's own, and the same operation with PyTorch (C++ and Python), CuPy and cuda.core
  scaling  cost against the number of streams and of operations, memory per object, on each usable backend
  peers    the host backend's queues against oneTBB, OpenMP and OpenCL
  kernels  kernels on the host backend against OpenMP and OpenCL

WEIR_COMMIT names the commit if there is no git. A part without its program and a library that is not installed are skipped; the results contain the reason.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

here = pathlib.Path(__file__).resolve().parent
root = here.parent


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, limit_s=300, **environment):
    """Runs a command. Returns (status, output, error output); status 124 means a timeout."""
    say("  " + " ".join(f"{k}={v}" for k, v in environment.items()) + " " + " ".join(str(c) for c in command))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, env=os.environ | environment)
    except subprocess.TimeoutExpired:
        return 124, "", f"did not end in {limit_s} s"
    return done.returncode, done.stdout, done.stderr


def last_line(text, otherwise="no output"):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else otherwise


def reason(errors):
    """Returns the cause in a Weir error, without remedies and without paths of this machine."""
    return re.split(r"; |, /|: /", last_line(errors))[0][:200]


def libraries_of(folder):
    """Returns the environment variable with which programs in the folder find the libraries of the same build."""
    libraries = folder.parent / "lib"
    if not libraries.is_dir():
        return {}
    return {"LD_LIBRARY_PATH": ":".join([str(libraries), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])}


class Programs:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        os.environ.update(libraries_of(self.folder))

    def benchmark(self, name, *options, limit_s=300, **environment):
        """Returns Google Benchmark's JSON, or a text with the reason why it is missing."""
        program = self.folder / name
        if not program.exists():
            return f"{name} was not built"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            status, _, errors = run([program, f"--benchmark_out={out}", "--benchmark_out_format=json", *options], limit_s,
                                    **environment)
            # Status 1 also means that a call exceeds its limit, which does not matter here.
            if out.exists() and out.stat().st_size and status in (0, 1):
                return json.loads(out.read_text(encoding="utf-8"))
            return reason(errors)


def iterations(report):
    """Yields (name, ns of one operation, row) for each repetition."""
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    for row in report["benchmarks"]:
        if row.get("run_type", "iteration") != "iteration":
            continue
        name = re.sub(r"/(iterations|repeats):\d+|/(manual|real)_time", "", row["name"])
        yield name, None if row.get("error_occurred") else row["real_time"] * scale[row["time_unit"]], row


def medians(reports):
    """Returns {name: ns}: the median of each report's median over its repetitions."""
    found = {}
    for report in reports:
        times = {}
        for name, ns, _ in iterations(report):
            if ns is not None:
                times.setdefault(name, []).append(ns)
        for name, list_ in times.items():
            found.setdefault(name, []).append(statistics.median(list_))
    return {name: round(statistics.median(list_), 2) for name, list_ in found.items()}


def torch_program(folder):
    """Compiles the comparison with PyTorch's generic stream; returns it, or a text with the reason of the failure."""
    ask = "import json, torch, torch.utils.cpp_extension as e; print(json.dumps([e.include_paths(), e.library_paths(), " \
          "torch._C._GLIBCXX_USE_CXX11_ABI]))"
    status, output, errors = run([sys.executable, "-c", ask])
    if status != 0:
        return last_line(errors)
    includes, libraries, abi = json.loads(output.splitlines()[-1])
    program = pathlib.Path(folder) / "torch_streams"
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", f"-D_GLIBCXX_USE_CXX11_ABI={int(abi)}",
               here / "libraries/torch_streams.cpp", *(f"-I{path}" for path in includes), *(f"-L{path}" for path in libraries),
               *(f"-Wl,-rpath,{path}" for path in libraries), "-Wl,--no-as-needed", "-ltorch_cuda", "-lc10_cuda", "-ltorch",
               "-lc10", "-o", program]
    status, _, errors = run(command)
    return program if status == 0 else last_line(errors)


def driver_calls(programs, vendor, rounds):
    libraries = {"torch": "PyTorch", "cupy": "CuPy", "cuda.core": "cuda.core"} if vendor == "cuda" else {}
    reports, library_runs, versions, absent = [], {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        others = {title: [sys.executable, here / "libraries/streams.py", name] for name, title in libraries.items()}
        if libraries:
            program = torch_program(folder)
            if isinstance(program, str):
                absent["PyTorch, C++"] = program
            else:
                others = {"PyTorch, C++": [program]} | others
        for turn in range(rounds):
            report = programs.benchmark(f"weir-bench-{vendor}")
            if isinstance(report, str):
                return {"absent": report}
            reports.append(report)
            for title, command in list(others.items()):
                status, output, errors = run(command)
                answer = json.loads(last_line(output, "{}")) if status in (0, 77) else {}
                if "rows" not in answer:
                    absent[title] = answer.get("absent") or last_line(errors)
                    del others[title]
                    continue
                if answer.get("version"):
                    versions[title] = answer["version"]
                library_runs.setdefault(title, []).append(answer["rows"])
                for name, error in answer.get("failed", {}).items():
                    say(f"  {title}: {name}: {error}")
    operations = {}
    for name, ns in medians(reports).items():
        operation, side = name.rsplit("/", 1)
        operations.setdefault(operation, {})["Weir" if side == "weir" else "driver"] = ns
    for title, runs in library_runs.items():
        for name in {name for rows in runs for name in rows}:
            values = [rows[name] for rows in runs if name in rows]
            operations.setdefault(name, {})[title] = round(statistics.median(values), 1)
    return {"operations": operations, "versions": versions, "absent": absent, "rounds": rounds}


# Each of these runs in its own process with a time limit, because a driver may take very long for very many streams.
SCALING = ["^object/", "^create_streams/10{0,4}/", "^fills_over_streams/10{0,4}/", "^pending_fills/", "^create_streams/100000/",
           "^fills_over_streams/100000/"]


def scaling(programs, backend, rounds):
    times, rows, errors, device = {}, {}, {}, ""
    for part in SCALING:
        for turn in range(1 if "100000" in part and backend != "host" else rounds):
            report = programs.benchmark("weir-bench-scaling", f"--benchmark_filter={part}", limit_s=120, WEIR_BACKEND=backend)
            if isinstance(report, str):
                if not device:
                    return {"absent": report}
                errors[part.strip("^/")] = report
                break
            device = report["context"].get("device", "")
            for name, ns, row in iterations(report):
                if ns is None:
                    errors[name] = row.get("error_message", "failed")
                    continue
                times.setdefault(name, []).append(ns)
                for key in ("heap_bytes", "resident_bytes", "device_bytes", "enqueue_ns"):
                    if key in row:
                        rows.setdefault(name, {}).setdefault(key, []).append(row[key])
    measured = {name: {"ns": round(statistics.median(list_), 1)} |
                {key: round(statistics.median(values), 1) for key, values in rows.get(name, {}).items()}
                for name, list_ in times.items()}
    return {"device": device, "rows": measured, "errors": errors, "rounds": rounds}


def peers(programs, rounds):
    reports = []
    for _ in range(rounds):
        report = programs.benchmark("weir-bench-peers")
        if isinstance(report, str):
            return {"absent": report}
        reports.append(report)
    operations = {}
    for name, ns in medians(reports).items():
        operation, side = name.rsplit("/", 1)
        operations.setdefault(operation, {})[side] = ns
    context = reports[0]["context"]
    return {"operations": operations, "threads": context.get("threads"), "OpenCL": context.get("OpenCL", ""), "rounds": rounds}


def kernels_once(folder, options, environment):
    """Runs the kernels once. Returns ({kernel: (unit, {side: speed})}, setting), or a text with the reason why there is no result."""
    status, output, errors = run([folder / "weir-bench-kernels", *options], 900, **environment, **libraries_of(folder))
    if status != 0:
        return last_line(errors)
    setting, head, *lines = output.splitlines()
    sides = [cell.strip() for cell in head.strip("|").split("|")][1:-1]
    rows = {}
    for line in lines:
        name, *cells, unit = [cell.strip() for cell in line.strip("|").split("|")]
        rows[name] = unit, {side: float(cell.split()[0]) for side, cell in zip(sides, cells) if cell != "–"}
    return rows, setting


def first_compilations(folder, rounds):
    """Returns {source: ms}: the time of a whole process with an empty cache."""
    times = {}
    for source in ("saxpy", "headers", "warps", "textbook"):
        for _ in range(rounds):
            begin = time.monotonic()
            if run([folder / "weir-bench-kernels", "--compile", source], **libraries_of(folder))[0] == 0:
                times.setdefault(source, []).append(1e3 * (time.monotonic() - begin))
    return {source: round(statistics.median(list_)) for source, list_ in times.items()}


def kernels(programs, rounds, options, before):
    if not (programs.folder / "weir-bench-kernels").exists():
        return {"absent": "weir-bench-kernels was not built"}
    units, speeds, setting = {}, {}, ""
    for turn in range(2 * rounds):
        # OpenMP threads that spin between loops start the next loop sooner, but take processors from the other sides. So the
        # other sides are measured while OpenMP's threads sleep, and OpenMP's result is the better one of both policies.
        policy = ("active", "passive")[turn % 2]
        found = kernels_once(programs.folder, options, {"OMP_WAIT_POLICY": policy})
        if isinstance(found, str):
            return {"absent": found}
        rows, setting = found
        if before and policy == "passive":
            earlier = kernels_once(pathlib.Path(before).resolve(), options, {"OMP_WAIT_POLICY": policy})
            if isinstance(earlier, str):
                return {"absent": f"{before}: {earlier}"}
            for name, (_, of_side) in earlier[0].items():
                rows[name][1]["before"] = of_side["Weir"]
        for name, (unit, of_side) in rows.items():
            units[name] = unit
            for side, speed in of_side.items():
                if policy == "passive" or side.startswith("OpenMP"):
                    speeds.setdefault(name, {}).setdefault((side, policy), []).append(speed)
    measured = {}
    for name, unit in units.items():
        measured[name] = {"unit": unit}
        for (side, _), list_ in speeds[name].items():
            measured[name][side] = max(measured[name].get(side, 0), statistics.median(list_))
    result = {"rows": measured, "setting": setting, "rounds": rounds, "options": options,
              "compile_ms": first_compilations(programs.folder, rounds)}
    if before:
        result["before"] = subprocess.run(["git", "-C", before, "rev-parse", "--short", "HEAD"], capture_output=True,
                                          text=True).stdout.strip() or before
        result["compile_ms_before"] = first_compilations(pathlib.Path(before).resolve(), 1)
    return result


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    processor = re.search(r"^model name\s*: (.*)$", text, re.M)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
    flags = set((re.search(r"^flags\s*: (.*)$", text, re.M) or [None, ""])[1].split())
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    about = {"processor": processor[1] if processor else platform.machine(), "vectors": vectors, "cores": len(os.sched_getaffinity(0)),
             "system": system[1] if system else platform.system()}
    try:
        ask = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        lines = subprocess.run(ask, capture_output=True, text=True, timeout=60).stdout.strip().splitlines()
        if lines:
            about["gpu"], about["driver"] = (part.strip() for part in lines[0].rsplit(",", 1))
    except (OSError, subprocess.TimeoutExpired):
        pass
    return about


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True).stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + (", changed" if git("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--part", action="append", choices=["calls", "scaling", "peers", "kernels"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kernels", action="append", default=[])
    parser.add_argument("--before", default="")
    options = parser.parse_args()
    parts = options.part or ["calls", "scaling", "peers", "kernels"]
    programs = Programs(options.bin)
    results = {"date": datetime.date.today().isoformat(), "commit": os.environ.get("WEIR_COMMIT") or commit(),
               "machine": machine()}

    def keep(*keys, value):
        place = results
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value
        if "absent" in value and value["absent"] and "operations" not in value:
            say(f"{' '.join(keys)}: {value['absent']}")
        # Write the results after each part, so that they are kept if the next part never ends.
        pathlib.Path(options.out).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    if "calls" in parts:
        for vendor in ("cuda", "hip"):
            keep("calls", vendor, value=driver_calls(programs, vendor, options.rounds))
    if "scaling" in parts:
        for backend in ("cuda", "hip", "host"):
            keep("scaling", backend, value=scaling(programs, backend, options.rounds))
    if "peers" in parts:
        keep("peers", value=peers(programs, options.rounds))
    if "kernels" in parts:
        keep("kernels", value=kernels(programs, options.rounds, options.kernels, options.before))
    say(f"results: {options.out}")


main()
