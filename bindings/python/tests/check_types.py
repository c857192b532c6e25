# SPDX-License-Identifier: Apache-2.0
"""Checks the programs in folders with mypy --strict and the package's stubs: check_types.py CACHE FOLDER…. Exit status 77: mypy is not installed."""

import importlib.util
import os
import pathlib
import subprocess
import sys

if importlib.util.find_spec("mypy") is None:
    sys.exit(77)
cache, *folders = sys.argv[1:]
# One folder at a time: two may have files of the same name.
for folder in folders:
    files = map(str, sorted(pathlib.Path(folder).glob("*.py")))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *files]
    if status := subprocess.run(command, env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}).returncode:
        sys.exit(status)
