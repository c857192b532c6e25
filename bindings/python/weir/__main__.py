# SPDX-License-Identifier: Apache-2.0
"""``python -m weir info``: what Weir can use on this machine, and why it cannot use the rest."""

from __future__ import annotations

import argparse
import pathlib
import re
import sys

from . import Device, Error, __version__
from ._core import _probe


def describe(device: Device, verbose: bool) -> None:
    memory = device.properties.total_memory / 2**30
    print(f"  {device}  {device.name}, {device.arch}, {device.properties.multiprocessor_count} multiprocessors, {memory:.1f} GiB")
    for name, (support, reason) in device.features.items():
        if verbose or support == "absent":
            print(f"    {name}: {support}{': ' + reason if reason else ''}")


def passes() -> list[int]:
    """Returns the releases of Clang for which the package contains the work-group pass."""
    package = pathlib.Path(__file__).resolve().parent
    names = [path.name for path in package.glob("weir-*/weir_workgroup-*.so")]
    return sorted(int(found[1]) for name in names if (found := re.fullmatch(r"weir_workgroup-(\d+)\.so", name)))


def describe_compiler(compiler: str) -> None:
    print(f"  compiler of kernels: {compiler}")
    if "/weir_workgroup-" in compiler:
        return
    print("  kernels with barriers run on fibers, 40 times slower and more than with the work-group pass")
    if releases := passes():
        print(f"  this package has the pass for Clang {', '.join(map(str, releases))}: apt-get install clang-{releases[-1]}")
    else:
        print("  this package was built without the pass")


def info(verbose: bool) -> int:
    print(f"Weir {__version__}")
    try:
        backends = _probe()
    except Error as error:  # WEIR_BACKEND or another variable is wrong
        print(error, file=sys.stderr)
        return 1
    for name, state, reason, versions, compiler in backends:
        print(f"{name}: {state}{' (' + versions + ')' if versions else ''}{': ' + reason if reason else ''}")
        if name == "host" and state == "usable":
            describe_compiler(compiler)
        if state == "usable":
            for device in Device.get_all_devices():
                if device.backend == name:
                    describe(device, verbose)
    try:
        print(f"default device: {Device()}")
    except Error as error:
        print(f"default device: none: {error}")
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m weir", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("info", help="list backends, devices, and the features that are absent, with the reasons")
    command.add_argument("-v", "--verbose", action="store_true", help="list all features")
    return info(parser.parse_args().verbose)


if __name__ == "__main__":
    raise SystemExit(main())
