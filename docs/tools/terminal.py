#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws commands and what they print as a picture of a terminal: terminal.py PICTURE TITLE COMMAND…

Paths below the current folder are shown without it.
"""
import html
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

COLUMNS, CHARACTER, LINE = 112, 7.23, 17
TEXT = "#e4e8ee"
COLOURS = {"$": "#7fd18b", "weir": "#ff8f80", "first:": "#8fc7ff", "second:": "#8fc7ff", "remedy:": "#ffd479"}


def output_of(commands):
    for command in commands:
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield from [f"$ {command}", *done.stdout.replace(f"{os.getcwd()}/", "").expandtabs().splitlines()]


def rows_of(lines):
    """(column, text) of each line of the picture."""
    for line in lines:
        text = line.lstrip()
        indent = len(line) - len(text)
        for i, piece in enumerate(textwrap.wrap(text, COLUMNS - indent - 2, break_on_hyphens=False, drop_whitespace=False) or [""]):
            yield indent + 2 * (i > 0), piece


def draw(rows, title):
    width, height = round(COLUMNS * CHARACTER + 32), 46 + LINE * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="ui-monospace,DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="12">',
             f'<rect width="{width}" height="{height}" rx="8" fill="#1d2229"/>']
    parts += [f'<circle cx="{18 + 16 * i}" cy="16" r="5" fill="{colour}"/>' for i, colour in enumerate(("#ff6159", "#ffbd2e", "#28c941"))]
    parts.append(f'<text x="{width / 2:.0f}" y="20" text-anchor="middle" fill="#8a929e">{html.escape(title)}</text>')
    for i, (column, text) in enumerate(rows):
        word = re.match(r"\S*", text)[0]
        parts.append(f'<text x="{16 + column * CHARACTER:.0f}" y="{46 + LINE * i}" fill="{TEXT}" xml:space="preserve">'
                     f'<tspan fill="{COLOURS.get(word, TEXT)}">{html.escape(word)}</tspan>{html.escape(text[len(word):])}</text>')
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(draw(list(rows_of(output_of(sys.argv[3:]))), sys.argv[2]))
