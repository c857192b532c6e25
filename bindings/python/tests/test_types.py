# SPDX-License-Identifier: Apache-2.0
"""Tests which mistakes type checkers find in typed.py."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import weir

FILE = pathlib.Path(__file__).with_name("typed.py")
LINES = FILE.read_text().splitlines()
FIRST_WRONG = LINES.index("def wrong() -> None:") + 2
PYTHON = ["--pythonpath", sys.executable]
CHECKERS = {"mypy": ["--strict", "--no-incremental"], "pyright": PYTHON, "basedpyright": [*PYTHON, "--level", "error"]}


@pytest.mark.parametrize("checker", CHECKERS)
def test_type_checkers_find_mistakes(checker, tmp_path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not here")
    folder = pathlib.Path(weir.__file__).parents[1]
    command = [sys.executable, "-m", checker, *CHECKERS[checker], str(FILE)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    if folder.name != "site-packages":  # which mypy searches anyway, and refuses in MYPYPATH
        environment["MYPYPATH"] = str(folder)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    found = {int(line) for line in re.findall(rf"{FILE.name}:(\d+):.* error", done.stdout)}
    assert not {line for line in found if line < FIRST_WRONG}, done.stdout
    missed = [LINES[line - 1] for line in range(FIRST_WRONG, len(LINES) + 1) if line not in found]
    assert len(missed) <= 2, (missed, done.stdout)
