# SPDX-License-Identifier: Apache-2.0
"""What the checks of the pages share: the pages, their headings as GitHub anchors them, and their links."""
import re
from pathlib import Path

root = Path(__file__).resolve().parent.parent.parent


def pages():
    return sorted([*root.glob("*.md"), *(root / "docs").glob("*.md")])


def prose(text):
    """The lines outside of code blocks, as (number, line)."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r" *(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark[1]
        elif fence and line.strip() == fence:
            fence = None
        elif fence is None:
            yield number, line


def slug(heading):
    """GitHub's anchor of a heading: lower case, spaces as hyphens, punctuation dropped."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def headings(text):
    """(number of the line, level, title, anchor); a second heading of the same text has -1 behind its anchor."""
    seen = {}
    for number, line in prose(text):
        mark = re.match(r"(#{1,6}) +(.*?) *#*$", line)
        if not mark:
            continue
        anchor = slug(mark[2])
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        yield number, len(mark[1]), mark[2], f"{anchor}-{count}" if count else anchor


def label(page, anchor):
    """What Doxygen's pages call that heading of a page: it has no anchors like GitHub's."""
    return f"{page.relative_to(root).with_suffix('').as_posix().replace('/', '-').replace('.', '-').lower()}--{anchor}"


LINK = re.compile(r"(?<!!)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)|!\[[^]]*\]\(([^)\s]+)\)|<(?:a|img)[^>]*(?:href|src)=\"([^\"]+)\"")


def links(text):
    """(number of the line, target), outside of code."""
    for number, line in prose(text):
        for match in LINK.finditer(re.sub(r"`[^`]*`", lambda code: "`" + "x" * (len(code[0]) - 2) + "`", line)):
            yield number, match[2] or match[3] or match[4]
