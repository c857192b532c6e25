# SPDX-License-Identifier: Apache-2.0
"""The program of docs/python.md: all its blocks in Python, one after another."""

import os
import pathlib
import re
import subprocess
import sys


PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def test_the_page_runs(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) > 5
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, "-X", "dev", program], env=os.environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
