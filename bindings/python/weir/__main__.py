# SPDX-License-Identifier: Apache-2.0
"""``python -m weir info``: what Weir can use on this machine, and why it cannot use the rest."""

from __future__ import annotations

import argparse

from . import Device, Error, __version__
from ._core import _probe


def describe(device: Device, verbose: bool) -> None:
    memory = device.properties.total_memory / 2**30
    print(f"  {device}  {device.name}, {device.arch}, {device.properties.multiprocessor_count} multiprocessors, {memory:.1f} GiB")
    for name, (support, reason) in device.features.items():
        if verbose or support == "absent":
            print(f"    {name}: {support}{': ' + reason if reason else ''}")


def info(verbose: bool) -> int:
    print(f"Weir {__version__}")
    for name, state, reason, versions in _probe():
        print(f"{name}: {state}{' (' + versions + ')' if versions else ''}{': ' + reason if reason else ''}")
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
