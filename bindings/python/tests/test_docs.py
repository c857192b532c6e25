# SPDX-License-Identifier: Apache-2.0
"""Runs all code blocks of docs/python.md, one after another, and the commands that draw docs/gallery.md."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

DOCS = pathlib.Path(__file__).parents[3] / "docs"


def test_the_page_runs(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "python.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) > 5
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    environment = {**os.environ, "WEIR_TOOLS": "validate"}
    done = subprocess.run([sys.executable, "-X", "dev", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def blocks_of_the_gallery():
    """(picture, the commands that draw it) for each part of docs/gallery.md."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for part in text.split("\n## ")[1:]:
        picture = re.search(r"!\[[^]]*\]\((gallery/[^)]+)\)", part)[1]
        commands = re.findall(r"^\$ (.*)", re.search(r"^```console\n(.*?)^```", part, re.M | re.S)[1], re.M)
        yield pytest.param(picture, commands, id=picture)


@pytest.mark.parametrize("picture, commands", list(blocks_of_the_gallery()))
def test_the_gallery_is_drawn_by_its_commands(picture, commands, tmp_path):
    assert (DOCS / picture).stat().st_size < 100_000
    if any(command.startswith("ci/") for command in commands):
        pytest.skip("builds Weir")
    if any(" dot " in command for command in commands) and shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    shutil.copytree(DOCS / "gallery", tmp_path / "docs/gallery", ignore=shutil.ignore_patterns("*.svg", "*.png"))
    for folder in ("docs/tools", "examples"):
        (tmp_path / folder).symlink_to(DOCS.parent / folder)
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-ec", "\n".join(commands)], cwd=tmp_path, env={**os.environ, "PATH": path}, check=True, timeout=120)
    made = (tmp_path / "docs" / picture).read_bytes()
    assert len(made) > 1000 and (made.startswith(b"\x89PNG") or b"<svg" in made)
