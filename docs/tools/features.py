#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/features.md, and the table in docs/hip-backend.md: features.py STORY FAKE_CUDA FAKE_HIP_FOLDERS [--check].

STORY is the tests' program that prints a device's features; it is run on the host backend, and on the CUDA and HIP backends over
stand-ins for drivers of several releases (tests/drivers), once for a device that has every attribute and once for one that has
none. So the page says what the backends' code decides, and not what was seen on devices. With --check the pages are
compared instead, and the exit status is 1 if one differs.
"""
import os
import re
import subprocess
import sys

from pages import root

arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
story, fake_cuda, fake_hip = arguments
CUDA = [12000, 12020, 12030, 12040, 13000]
HIP = ["6.2", "7.1", "7.2", "10.0"]
ALL_HIP = "6.2 6.3 6.4 7.0 7.1 7.2 7.14 10.0".split()
page = root / "docs/features.md"


def states(environment, script=""):
    """{feature: (support, reason)}"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    output = subprocess.run([story, "features"], env=clean | environment | {"WEIR_TEST_DRIVER": script}, check=True,
                            capture_output=True, text=True).stdout
    return {name: (support, reason.strip()) for name, support, reason in re.findall(r"^feature (\w+): (\w+)(.*)$", output, re.M)}


def column(environment, version="", compiler="", opt_in=None):
    """{feature: (word, reason)} of one release."""
    every = f"{version} devices=2 attributes=1 peers=1"
    best, worst = states(environment, every), states(environment, f"{version} devices=2 attributes=0")
    asked = states(environment | opt_in, every) if opt_in else best
    made = {}
    for name, (support, reason) in best.items():
        word = {"native": "yes", "emulated": "emulated", "absent": "–"}[support]
        if name == "runtime_compilation":
            word, reason = compiler, ""
        elif support == "absent" and asked[name][0] != "absent":
            word = "if asked for"
        elif support == "native" and (worst[name][0] == "absent" or name == "peer_access"):
            word = "device"
        made[name] = (word, reason)
    return made


host = {name: ({"native": "yes", "emulated": "emulated", "absent": "–"}[support], reason)
        for name, (support, reason) in states({"WEIR_BACKEND": "host", "WEIR_HOST_DEVICES": "2"}).items()}
host["runtime_compilation"] = ("C++ compiler", "")
cuda = [column({"WEIR_BACKEND": "cuda", "WEIR_CUDA_DRIVER": fake_cuda, "WEIR_NVRTC": "/nonexistent"}, f"version={number}", "NVRTC")
        for number in CUDA]
all_hip = {release: column({"WEIR_BACKEND": "hip", "WEIR_HIPRTC": "/nonexistent",
                            "WEIR_HIP_RUNTIME": f"{fake_hip}{release}/libamdhip64.so.{release.split('.')[0]}"},
                           "", "HIPRTC", {"WEIR_ENABLE_FEATURES": "graph_capture,graph_memory_nodes,wait_value_32,wait_value_64,"
                                                                   "wait_value_nor"}) for release in ALL_HIP}
hip = [all_hip[release] for release in HIP]
names = ["host", *(f"CUDA {n // 1000}.{n % 1000 // 10}" for n in CUDA), *(f"HIP {release}" for release in HIP)]
columns = [host, *cuda, *hip]
descriptions = dict(re.findall(r'^  X\((\w+), "(.*?)"\)', (root / "include/weir/feature.hpp").read_text(), re.M))
assert all(set(one) == set(descriptions) for one in columns), "a feature is missing"


def plain(reason):
    """Without the numbers of the one release that was asked."""
    reason = re.sub(r"libamdhip64\.so\.\d+ \(HIP [\d.]+\)", "the runtime", reason)
    reason = re.sub(r"the driver \(CUDA [\d.]+\)", "the driver", reason)
    reason = re.sub(r"the driver is for CUDA [\d.]+; ", "", reason)
    return re.sub(r"in HIP \d+\.\d+\.\d+", "in the runtime", reason).replace("|", "\\|")


text = f"""\
# Features by backend and release

The features of each backend and driver, and the reasons for absent ones. On a machine, `weir info -v` lists them; in a program, ask
`device.supports(…)` ([features](index.md#features)).

This page is made from the backends' code, with stand-ins for drivers of these releases; nothing on it was seen on a device
([what ran on what](tested.md)). CUDA 13.1 to 13.5 are like 13.0, because the backend calls no later function. The
[porting tables](porting-tables.md) list their new functions.

- **yes**: every device has it. **device**: only the devices that report it. **emulated**: the same result by other means, if the device
  has the features that this needs.
- The HIP columns are those of a gfx942; [graphs depend on the GPU](hip-backend.md#graphs-that-go-wrong-without-an-error).
- **if asked for**: an [environment variable](environment.md) enables it. **–**: absent.
- NVRTC, HIPRTC, C++ compiler: if that is installed.

| feature | purpose | {" | ".join(names)} |
|---|---|{"---|" * len(names)}
"""
for name, words in descriptions.items():
    text += f"| `{name}` | {words} | {' | '.join(one[name][0] for one in columns)} |\n"
text += """
## Why a feature is absent or emulated

The reasons as the backends report them; `weir info -v` prints those of a machine.

| feature | where | why |
|---|---|---|
"""
for name in descriptions:
    reasons = {}
    for where, one in zip(names, columns):
        word, reason = one[name]
        if word not in ("yes", "device") and reason and not reason.startswith("there is no capture: "):
            reasons.setdefault(plain(reason), []).append(where)
    for reason, where in reasons.items():
        text += f"| `{name}` | {', '.join(where)} | {reason} |\n"



def ranges(releases):
    """"6.2, 6.4 to 7.1, from 7.14", of the releases that there are."""
    parts, at = [], [ALL_HIP.index(release) for release in releases]
    while at:
        count = next((n for n in range(1, len(at)) if at[n] != at[0] + n), len(at))
        first, last = ALL_HIP[at[0]], ALL_HIP[at[count - 1]]
        parts.append("all" if count == len(ALL_HIP) else f"from {first}" if last == ALL_HIP[-1] else
                     first if count == 1 else f"{first} to {last}")
        at = at[count:]
    return ", ".join(parts) or "–"


def hip_table():
    """Features that not every release has natively."""
    lines = "| feature | native | emulated | absent | why |\n|---|---|---|---|---|\n"
    for name in descriptions:
        words = {release: column[name][0] for release, column in all_hip.items()}
        if name == "runtime_compilation" or set(words.values()) == {"yes"}:
            continue
        def where(*kinds):
            return [release for release, word in words.items() if word in kinds]
        native = ranges(where("yes", "device"))
        if where("device"):
            native += ", where the device has it"
        if where("if asked for"):
            native = (native + "; " if native != "–" else "") + f"if asked for: {ranges(where('if asked for'))}"
        reasons = {}
        for release, one in all_hip.items():
            word, reason = one[name]
            if word not in ("yes", "device") and reason:
                text = "there is no capture" if reason.startswith("there is no capture: ") else plain(reason)
                reasons.setdefault(text, []).append(release)
        why = "; ".join(text if len(reasons) == 1 else f"{ranges(when)}: {text}" for text, when in reasons.items())
        lines += f"| `{name}` | {native} | {ranges(where('emulated'))} | {ranges(where('–'))} | {why or '–'} |\n"
    return lines


hip_page = root / "docs/hip-backend.md"
begin, end = "<!-- Made by docs/tools/features.py, from the table of quirks and of functions: begin -->\n", "<!-- end -->\n"
before, rest = hip_page.read_text().split(begin)
hip_text = before + begin + hip_table() + end + rest.split(end, 1)[1]

if "--check" in sys.argv[1:]:
    if page.read_text() != text or hip_page.read_text() != hip_text:
        sys.exit("docs/features.md or docs/hip-backend.md is not what the backends say: build weir_features_page")
else:
    page.write_text(text)
    hip_page.write_text(hip_text)
