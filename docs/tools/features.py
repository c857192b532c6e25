#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/features.md: features.py STORY FAKE_CUDA FAKE_HIP_FOLDERS [--check].

STORY is the tests' program that prints a device's features; it is run on the host backend, and on the CUDA and HIP backends over
stand-ins for drivers of several releases (tests/drivers), once for a device that has every attribute and once for one that has
none. So the page says what the backends' code decides, and not what was seen on devices. With --check the page is compared
instead, and the exit status is 1 if it differs.
"""
import os
import re
import subprocess
import sys

from pages import root

arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
story, fake_cuda, fake_hip = arguments
CUDA = [12000, 12020, 12030, 12040, 13000]
HIP = ["5.2", "5.4", "6.2", "7.1", "10.0"]
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
hip = [column({"WEIR_BACKEND": "hip", "WEIR_HIP_RUNTIME": f"{fake_hip}{release}/libamdhip64.so.{release.split('.')[0]}",
               "WEIR_HIPRTC": "/nonexistent"}, "", "HIPRTC", {"WEIR_HIP_WAIT_VALUE": "1", "WEIR_HIP_GRAPH_MEMORY": "1"})
       for release in HIP]
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

Whatever some backend, device or driver lacks is a [feature](index.md#features) that a program can ask for: `device.supports(…)`,
`weir info` on a machine. This page is made from the backends' code, with stand-ins for drivers of these releases; nothing on it was
seen on a device. [What ran on what](tested.md) is another page.

- **yes**: every device has it. **device**: the devices that say so have it. **emulated**: the same result by other means, there
  where the device has what that needs.
- **if asked for**: a variable switches it on ([environment](environment.md)). **–**: absent.
- NVRTC, HIPRTC, C++ compiler: where that is installed.

| feature | what it is for | {" | ".join(names)} |
|---|---|{"---|" * len(names)}
"""
for name, words in descriptions.items():
    text += f"| `{name}` | {words} | {' | '.join(one[name][0] for one in columns)} |\n"
text += """
## Why a feature is absent or emulated

What a device or driver tells, in its own words; `weir info` has them for the machine it runs on.

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

if "--check" in sys.argv[1:]:
    if page.read_text() != text:
        sys.exit("docs/features.md is not what the backends say: build weir_features_page")
else:
    page.write_text(text)
