#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/performance.md, its pictures and the README's table of costs from the results in docs/performance/*.json.

    performance.py                     writes them
    performance.py --check             fails if they are not what would be written
    performance.py --add RESULTS NAME  keeps RESULTS, which ci/bench.sh wrote, as docs/performance/NAME.json, and writes them

The README's table is of the file cuda.json, and is not there without it.
"""
import math
import re
import sys

from pages import pages_of_results, root

folder = root / "docs/performance"
BEGIN, END = "<!-- Made by docs/tools/performance.py: begin -->", "<!-- end -->"
COLOURS = ["#2563a8", "#8a8f98", "#d9822b", "#4a9e62", "#9b4f96", "#b8a12b"]
SIDES = ["Weir", "driver", "PyTorch, C++", "PyTorch", "CuPy", "cuda.core", "oneTBB", "OpenMP", "OpenCL"]
CALLS_FIRST = ["launch, 3 arguments", "record", "wait (event)", "wait (stream)", "is_complete, idle", "synchronize, idle",
               "copy of 4 KiB, pinned to device", "fill of 4 KiB", "asynchronous allocate + free",
               "host function, nothing captured", "stream create + destroy", "stream lease (raw: create + destroy)",
               "event (raw: create + destroy)", "capture of 100 kernels", "instantiate + destroy", "graph launch",
               "graph launch + synchronize"]
README_CALLS = ["launch, 3 arguments", "record", "wait (event)", "copy of 4 KiB, pinned to device", "asynchronous allocate + free",
                "graph launch"]


def number(value):
    """Three digits of a number, with thousands apart."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time(ns):
    if ns is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{number(ns / size)} {unit}"
    return f"{number(ns)} ns"


def size(count):
    if count is None or count < 1:
        return "–"
    for unit, of in (("MiB", 2**20), ("KiB", 2**10)):
        if count >= of:
            return f"{number(count / of)} {unit}"
    return f"{count:.0f} B"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


# --- Pictures ------------------------------------------------------------------------------------------------------------


class Picture:
    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="sans-serif" font-size="12">',
                      f'<rect width="{width}" height="{height}" fill="white"/>']
        self.text(12, 20, title, weight="bold")

    def text(self, x, y, words, anchor="start", weight="normal", colour="#222"):
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="{colour}">{words}</text>')

    def line(self, x1, y1, x2, y2, colour="#ddd"):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>')

    def bar(self, x, y, width, height, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>')

    def curve(self, points, colour):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]

    def legend(self, x, y, names):
        for i, name in enumerate(names):
            self.bar(x, y + 18 * i - 9, 10, 10, COLOURS[i % len(COLOURS)])
            self.text(x + 16, y + 18 * i, name)

    def __str__(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def bars(title, rows, sides):
    """Groups of bars, one for each side, on a logarithmic scale of time."""
    left, width, step = 290, 560, 13
    group = step * len(sides) + 10
    height = 60 + group * len(rows)
    picture = Picture(left + width + 190, height, title)
    low, high = decades([ns for _, times in rows for ns in times.values()])
    scale = width / (high - low)
    for decade in range(low, high + 1):
        x = left + (decade - low) * scale
        picture.line(x, 32, x, height - 24)
        picture.text(x, height - 8, time(10.0**decade), "middle")
    for i, (name, times) in enumerate(rows):
        y = 40 + group * i
        picture.text(left - 8, y + group / 2, name, "end")
        for j, side in enumerate(sides):
            if side in times:
                length = max((math.log10(times[side]) - low) * scale, 1)
                picture.bar(left, y + step * j, length, step - 2, COLOURS[j % len(COLOURS)])
                picture.text(left + length + 4, y + step * j + 10, time(times[side]), colour="#555")
    picture.legend(left + width + 70, 44, sides)
    return str(picture)


def curves(title, lines, below, label=time):
    """{name: [(count, ns)]} on two logarithmic scales; `label` makes words of what is not ns."""
    left, top, width, height = 70, 40, 520, 260
    picture = Picture(left + width + 220, top + height + 60, title)
    xs, ys = decades([x for points in lines.values() for x, _ in points]), decades([y for points in lines.values() for _, y in points])

    def at(x, y):
        return (left + (math.log10(x) - xs[0]) / (xs[1] - xs[0]) * width,
                top + height - (math.log10(y) - ys[0]) / (ys[1] - ys[0]) * height)

    for decade in range(xs[0], xs[1] + 1):
        x, _ = at(10.0**decade, 10.0**ys[0])
        picture.line(x, top, x, top + height)
        picture.text(x, top + height + 18, f"{10**decade:,}", "middle")
    for decade in range(ys[0], ys[1] + 1):
        _, y = at(10.0**xs[0], 10.0**decade)
        picture.line(left, y, left + width, y)
        picture.text(left - 8, y + 4, label(10.0**decade), "end")
    picture.text(left + width / 2, top + height + 42, below, "middle")
    for i, points in enumerate(lines.values()):
        picture.curve([at(x, y) for x, y in points], COLOURS[i % len(COLOURS)])
    picture.legend(left + width + 16, top + 12, list(lines))
    return str(picture)


# --- The page ------------------------------------------------------------------------------------------------------------


def in_order(names, first):
    return [name for name in first if name in names] + sorted(name for name in names if name not in first)


def sides_of(operations):
    return [side for side in SIDES if any(side in times for times in operations.values())]


def is_there(part):
    return bool(part) and ("operations" in part or part.get("rows"))


def absences(part):
    absent = part.get("absent") or {}
    return "".join(f"\nNot here: {title} ({why}).\n" for title, why in absent.items()) if isinstance(absent, dict) else ""


def calls_section(name, vendor, part, pictures):
    operations = part["operations"]
    driver = {"cuda": "CUDA's driver", "hip": "HIP's runtime"}[vendor]
    order, sides = in_order(operations, CALLS_FIRST), sides_of(operations)
    versions = ", ".join(f"{title} {version}" for title, version in part.get("versions", {}).items())
    rows = []
    for operation in order:
        times = operations[operation]
        ratio = f"{times['Weir'] / times['driver']:.2f}" if times.get("driver") and times.get("Weir") else "–"
        rows.append([operation, *(time(times.get(side)) for side in sides), ratio])
    shared = [(operation, operations[operation]) for operation in order
              if len(operations[operation]) > (2 if len(sides) > 2 else 1)]
    text = f"""### Each call: latency and overhead, compared with {driver}{" and other libraries" if len(sides) > 2 else ""}

The cost of one call for the calling thread: some hundred calls are timed together, and the wait for the device comes afterwards. Medians
of {part["rounds"]} rounds; the programs took turns. "driver" is {driver} called directly, in the same process as Weir{f"; {versions}" if versions else ""}.
"""
    if "PyTorch" in sides:
        text += """PyTorch, CuPy and cuda.core are called from Python, whose loop is part of the time. PyTorch's launch, copy, fill and allocation are its
operators on tensors (`add_(1)`, `copy_`, `fill_`, `empty`); "PyTorch, C++" is `c10::Stream`.
"""
    for remark in part.get("remarks", []):
        text += f"\n{remark}\n"
    if shared:
        pictures[f"{name}-{vendor}.svg"] = bars(f"One call beside {driver}", shared, sides)
        text += f"\n![What one call costs](performance/{name}-{vendor}.svg)\n"
    return text + "\n" + table(["operation", *sides, "Weir ÷ driver"], rows) + absences(part)


def points(rows, prefix):
    found = [(int(key.split("/")[1]), row) for key, row in rows.items() if key.startswith(prefix + "/")]
    return sorted(found, key=lambda one: one[0])


def scaling_section(name, part, pictures):
    usable = {backend: one for backend, one in part.items() if one.get("rows")}
    if not usable:
        return ""
    text = """### Many streams, many operations

Fills of 4 bytes. In the first picture they go to n streams in turn, in the second n of them go to one stream. Each number is the
time from the first call to the end of the last operation, divided by the number of operations. On the CPU the one stream is blocked until
all are enqueued, so all are pending at once; a GPU's driver accepts some thousand and then blocks the caller.
"""
    for what, prefix, below in (("streams", "fills_over_streams", "streams"), ("pending", "pending_fills", "operations on one stream")):
        lines = {backend: [(count, row["ns"]) for count, row in points(one["rows"], prefix)] for backend, one in usable.items()}
        pictures[f"{name}-{what}.svg"] = curves(f"A fill, against the number of {below}", lines, below)
        text += f"\n![Cost of an operation against the number of {below}](performance/{name}-{what}.svg)\n"
    for backend, one in usable.items():
        rows = one["rows"]
        created, filled, pending = (dict(points(rows, prefix)) for prefix in ("create_streams", "fills_over_streams", "pending_fills"))
        lines = []
        for count in sorted({*created, *filled, *pending}):
            lines.append([f"{count:,}", time(created.get(count, {}).get("ns")), time(filled.get(count, {}).get("ns")),
                          time(pending.get(count, {}).get("enqueue_ns")), time(pending.get(count, {}).get("ns"))])
        text += f"\n`{backend}` ({one['device']}):\n\n"
        text += table(["n", "make one of n streams", "one fill over n streams", "enqueue one of n fills",
                       "one of n fills on one stream"], lines)
        for key, error in one.get("errors", {}).items():
            text += f"\n`{key}`: {error}\n"
    text += "\n### Memory of an object\n\nThe memory that each of some hundred to ten thousand objects adds.\n\n"
    lines = []
    for backend, one in usable.items():
        for key, row in one["rows"].items():
            if key.startswith("object/"):
                lines.append([key.split("/", 1)[1], f"`{backend}`", time(row["ns"]), size(row.get("heap_bytes")),
                              size(row.get("resident_bytes")), size(row.get("device_bytes"))])
        many = dict(points(one["rows"], "create_streams")).get(10_000)
        if many:
            lines.append(["stream, of 10,000", f"`{backend}`", time(many["ns"]), size(many.get("heap_bytes")),
                          size(many.get("resident_bytes")), size(many.get("device_bytes"))])
        pending = dict(points(one["rows"], "pending_fills")).get(1_000_000, {})
        if pending.get("heap_bytes"):
            lines.append(["operation, pending, of 1,000,000", f"`{backend}`", time(pending["enqueue_ns"]), size(pending["heap_bytes"]),
                          size(pending.get("resident_bytes")), "–"])
    return text + table(["object", "backend", "to make one", "heap", "resident", "device"], lines)


def peers_section(name, part, pictures):
    operations = part["operations"]
    sides = sides_of(operations)
    pictures[f"{name}-peers.svg"] = bars("On the CPU, beside other runtimes", list(operations.items()), sides)
    rows = []
    for operation, times in operations.items():
        cells = []
        for side in sides:
            ratio = f" ({times['Weir'] / times[side]:.2f})" if side != "Weir" and side in times else ""
            cells.append(time(times.get(side)) + ratio)
        rows.append([operation, *cells])
    opencl = f" OpenCL is {part['OpenCL']}." if part.get("OpenCL") else ""
    return f"""### The host backend's queues compared with oneTBB, OpenMP and OpenCL

The same operations in random turns, in one process with {part["threads"]} threads for each runtime; medians of {part["rounds"]} runs.
Each number is for one operation, from the first call to the end of the last; in parentheses, Weir's time over the other's. oneTBB's
queues are serial nodes of a flow graph, OpenMP's are tasks with dependences.{opencl}

![The host backend and other runtimes](performance/{name}-peers.svg)

""" + table(["operation", *sides], rows)


SOURCES = {"saxpy": "two kernels of a line", "headers": "a kernel, and four of the standard library's headers",
           "warps": "five kernels with shuffles and votes", "textbook": "eleven kernels of textbooks"}


def kernels_section(part):
    known = ["Weir", "before", "OpenMP", "OpenMP, GCC", "OpenMP, Clang", "OpenCL"]
    sides = [side for side in known if any(side in row for row in part["rows"].values())]
    rows = []
    for kernel, row in part["rows"].items():
        cells = [number(row.get(side)) + (f" ({row['Weir'] / row[side]:.2f})" if side != "Weir" and row.get(side) else "")
                 for side in sides]
        rows.append([kernel, *cells, row["unit"]])
    medians = f" Medians of {part['rounds']} runs. OpenMP's threads can spin between loops, which takes processors from " \
        "the others. So OpenMP also ran with spinning threads in as many separate runs, and the table has the faster of the two." if "rounds" in part else ""
    if "--processor-time" in part.get("options", []):
        medians += " Time is the processors', since others used the machine, too."
    head = ["commit " + part["before"] if side == "before" else side for side in sides]
    text = f"""### Kernels on the CPU compared with OpenMP and OpenCL

The same results in one process; more is better.{medians} In parentheses, Weir's speed over the other's. {part["setting"]}.

""" + table(["kernel", *head, "unit"], rows)
    if "compile_ms" in part:
        earlier = part.get("compile_ms_before", {})
        head = ["source", "Weir"] + (["commit " + part["before"]] if earlier else [])
        text += "\nThe first compilation, from the start of a process to its end, with an empty cache:\n\n" + table(head, [
            [f"`{source}.cu`, {SOURCES[source]}", time(1e6 * ms)] + ([time(1e6 * earlier[source])] if source in earlier else [])
            for source, ms in part["compile_ms"].items()])
    return text


def about(results):
    machine = results["machine"]
    gpu = f"{machine['gpu']}, driver {machine['driver']}; " if machine.get("gpu") else ""
    vectors = f", {machine['vectors']}" if machine.get("vectors") else ""
    processor = f"{machine['processor']}{vectors}, {machine['cores']} cores"
    return f"{gpu}{processor}; {machine['system']}; commit {results['commit']}, {results['date']}." + \
        (f" {results['note']}" if results.get("note") else "")


def made(files):
    """{path below the root: text} of all that is made."""
    pictures = {}
    text = """<!-- Made by docs/tools/performance.py from docs/performance/*.json; run ci/bench.sh for new ones. -->
# Performance

What Weir costs, compared with the drivers that it calls and with other libraries. Each comparison was made in one run on one machine, by
[ci/bench.sh](../ci/bench.sh); do not compare numbers of two machines, or of two runs. To measure on your machine, use `ci/bench.sh` in
a clone, or the programs of a Weir that was built with `WEIR_BUILD_BENCH`: `weir-bench-cuda` and `weir-bench-hip` time each call and the
driver's own in one process, `weir-bench-host` the operations of the host backend, `weir-bench-scaling` many streams and operations.
They have the options of Google Benchmark. They measure the cost of calls, not bandwidth: for that see `weir timeline`, or
[a recipe](recipes/time_work.cpp).

The tests count the instructions that each call adds to the driver's own (`tests/instructions`), and fail if it adds three percent more
than before.
"""
    if not files:
        text += "\nNothing has been measured yet.\n"
    for name, results in files.items():
        machine = results["machine"]
        text += f"\n## {results.get('title') or machine.get('gpu') or machine['processor']}\n\n{about(results)}\n"
        for vendor, part in results.get("calls", {}).items():
            if is_there(part):
                text += "\n" + calls_section(name, vendor, part, pictures)
        if is_there(results.get("peers")):
            text += "\n" + peers_section(name, results["peers"], pictures)
        if is_there(results.get("kernels")):
            text += "\n" + kernels_section(results["kernels"])
        if section := scaling_section(name, results.get("scaling", {}), pictures):
            text += "\n" + section
    pages = {"docs/performance.md": text} | {f"docs/performance/{name}": picture for name, picture in pictures.items()}
    readme = (root / "README.md").read_text(encoding="utf-8")
    block = f"{BEGIN}\n"
    cuda = files.get("cuda", {}).get("calls", {}).get("cuda", {})
    if is_there(cuda):
        operations = cuda["operations"]
        sides = sides_of(operations)
        rows = [[operation, *(time(operations[operation].get(side)) for side in sides)]
                for operation in README_CALLS if operation in operations]
        block += f"\nOne call, on {files['cuda']['machine'].get('gpu', 'a GPU')} ([how, and all of them](docs/performance.md)):\n\n"
        block += table(["", *sides], rows) + "\n"
    pages["README.md"] = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: block + END, readme, flags=re.S)
    return pages


if __name__ == "__main__":
    pages_of_results(sys.argv[1:], __doc__, folder, made, "docs/tools/performance.py")
