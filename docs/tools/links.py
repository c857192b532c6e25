#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds dead links: links.py looks through the pages (*.md here and in docs), links.py HTML_FOLDER through pages that were made.

Links to files and to headings are followed, those to other sites are not. Exit status 1 if one is dead.
"""
import html.parser
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import headings, links, pages, root


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.targets = set(), []
        self.feed(path.read_text(errors="replace"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        target = values.get("href") or values.get("src")
        if target:
            self.targets.append((self.getpos()[0], target))


def read_markdown(path):
    text = path.read_text()
    return {anchor for *_, anchor in headings(text)}, list(links(text))


def read_html(path):
    page = Page(path)
    return page.anchors, page.targets


def dead_links(paths, read):
    known = {path: read(path) for path in paths}
    for path in paths:
        for line, target in known[path][1]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target.startswith("javascript:"):
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                yield path, line, target, "there is no such file"
            elif parts.fragment and file in known and unquote(parts.fragment) not in known[file][0]:
                yield path, line, target, "there is no such heading"


if len(sys.argv) > 1:
    folder = Path(sys.argv[1]).resolve()
    checked, reader = sorted(folder.glob("**/*.html")), read_html
else:
    folder, checked, reader = root, pages(), read_markdown
if not checked:
    sys.exit(f"there are no pages in {folder}")
dead = list(dead_links(checked, reader))
for path, line, target, why in dead:
    print(f"{path.relative_to(folder)}:{line}: {target}: {why}")
print(f"{len(checked)} pages, {len(dead)} dead links")
sys.exit(1 if dead else 0)
