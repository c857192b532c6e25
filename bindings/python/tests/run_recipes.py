# SPDX-License-Identifier: Apache-2.0
"""Runs all recipes in a folder on the device that WEIR_BACKEND selects: run_recipes.py FOLDER. Exit status 77: the device cannot be used."""

import pathlib
import subprocess
import sys

import weir

try:
    weir.Device()
except weir.Error as error:
    print(error)
    sys.exit(77)
failed = 0
for recipe in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    done = subprocess.run([sys.executable, "-X", "dev", recipe], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    print(recipe.stem, {0: "passed", 77: "skipped"}.get(done.returncode, f"FAILED ({done.returncode})\n{done.stdout}"))
    failed += done.returncode not in (0, 77)
sys.exit(failed > 0)
