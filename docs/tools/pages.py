# SPDX-License-Identifier: Apache-2.0
"""What the checks of the pages share: the pages, their headings as GitHub anchors them, their links, and
pages that are made of results."""
import json
import re
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent.parent


def pages():
    return sorted([*root.glob("*.md"), *(root / "docs").glob("*.md")])


def with_programs(page):
    """The text of a page; in a cookbook, each link to a recipe is followed by the program, without the comment that is the page's."""
    def program(link):
        comment = {"cpp": "//", "py": "#"}[link[3]]
        lines = (page.parent / link[2]).read_text(encoding="utf-8").splitlines()
        start = next(i for i, line in enumerate(lines) if line and not line.startswith(comment))
        return "\n".join([link[1], "", f"```{'python' if link[3] == 'py' else link[3]}", *lines[start:], "```"])
    return re.sub(r"^(\[[\w.]+\]\((recipes[\w-]*/\w+\.(cpp|py))\).*)$", program, page.read_text(encoding="utf-8"), flags=re.M)


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


def pages_of_results(arguments, usage, folder, made, script):
    """What a script does that makes pages of the results in `folder`/*.json: `made({name: results})` gives {path: text}."""
    if arguments[:1] == ["--add"] and len(arguments) == 3:
        folder.mkdir(exist_ok=True)
        results = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
        text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{arguments[2]}.json").write_text(text, encoding="utf-8")
    elif arguments not in ([], ["--check"]):
        sys.exit(usage)
    texts = made({file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))})
    stale = {file.relative_to(root).as_posix() for file in folder.glob("*.svg")} - set(texts)
    if arguments != ["--check"]:
        for path, text in texts.items():
            (root / path).write_text(text, encoding="utf-8")
        for path in stale:
            (root / path).unlink()
        return
    wrong = [path for path, text in texts.items()
             if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text]
    if wrong or stale:
        sys.exit(f"not what the results say: {', '.join([*wrong, *sorted(stale)])}; run {script}")
