# SPDX-License-Identifier: Apache-2.0
"""Checks the examples in a folder by mypy --strict, with the package's stubs: check_types.py FOLDER CACHE. 77 if mypy is not here."""

import importlib.util
import os
import pathlib
import subprocess
import sys

if importlib.util.find_spec("mypy") is None:
    sys.exit(77)
folder, cache = sys.argv[1:]
command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *map(str, sorted(pathlib.Path(folder).glob("*.py")))]
sys.exit(subprocess.run(command, env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}).returncode)
