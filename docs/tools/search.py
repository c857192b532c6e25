#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes find.html, a search through all pages by words: search.py HTML_FOLDER. Doxygen's own search knows names only.

search.py --check asks the questions of a newcomer in search-questions.txt; each must be answered among the first three finds.
An entry is a heading with the text below it. A word is found if one of the entry's begins like it. Words in the heading count
most, then those in the page's title; whole words count more than beginnings; words that are missing count against the entry,
and half of them must be there. A rare word counts more than one that is in many entries. Synonyms of a word count a little
less than the word. Some pages come behind the others.
"""
import json
import math
import re
import sys
from pathlib import Path

from pages import headings, label, pages, root, with_programs

# Pages that come behind the others: for those who change Weir, or who ask what happened to it, and those of Python that answer the
# same questions as a page for C++.
BEHIND = ["CHANGELOG.md", "CONTRIBUTING.md", "docs/internals.md", "docs/stories.md", "docs/source-tree.md", "docs/bundle-format.md",
          "docs/graph-format.md", "docs/abi.md", "docs/race.md", "docs/tested.md", "docs/python-cookbook.md", "docs/python-porting.md"]

# Tables of names, which have every word; Doxygen's search finds their names.
LEFT_OUT = ["docs/c.md#names-c-cuda-c", "docs/cuda-programs.md#the-calls",
            *(f"docs/python-porting.md#from-{name}" for name in ("cudacore", "cupy", "pytorch", "warp"))]

# What people type, and words of the pages that mean the same.
SYNONYMS = {
    "asynchronously": ["asynchronous"], "blocking": ["waiting"], "callback": ["function"],
    "card": ["device"], "check": ["find", "ask"], "complete": ["done"], "completed": ["done"],
    "cpu": ["host"], "crash": ["poisoned", "fault"], "crashed": ["poisoned", "fault"], "deadlock": ["stuck"],
    "dealloc": ["free"], "deploy": ["install"], "detect": ["find"], "download": ["copy"], "duration": ["measure", "long"],
    "enumerate": ["list"], "exception": ["error"], "existing": ["other"], "fast": ["cost"], "finished": ["done"],
    "foreign": ["other"], "gpu": ["device"], "hang": ["stuck"], "hello": ["first"], "left": ["free"], "locked": ["pinned"],
    "malloc": ["allocate"], "memcpy": ["copy"], "memset": ["set"], "move": ["copy"], "pick": ["choose"],
    "precompiled": ["image"], "query": ["ask"], "record": ["capture"], "rectangle": ["matrix"], "repeat": ["replay"],
    "result": ["back"], "second": ["number"], "select": ["choose"], "speed": ["cost"], "start": ["launch"],
    "string": ["source"], "sync": ["wait"], "synchronization": ["wait"], "synchronize": ["wait"], "time": ["measure"],
    "timing": ["measure"], "transfer": ["copy"], "two": ["another"], "upload": ["copy"], "visualize": ["timeline"],
    "vram": ["memory"], "world": ["run"], "wrap": ["other"],
}


def words(text):
    """Lower-case words, without the s of a plural."""
    found = re.findall(r"[a-z0-9]+", text.lower().replace("timeout", "timeout timeout"))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found]


# Words that say nothing.
STOP = words("a an and are at by can do does for from get have how i in is it my of on or own than that the there this to what when "
             "where which why with")


def entries():
    for page in pages():
        text = with_programs(page)
        lines = text.splitlines()
        found = list(headings(text))
        first = "index" if page == root / "README.md" else label(page, found[0][3])
        for (number, _, title, anchor), after in zip(found, [*found[1:], (len(lines) + 1,)]):
            if f"{page.relative_to(root)}#{anchor}" in LEFT_OUT:
                continue
            below = " ".join(lines[number:after[0] - 1])
            url = f"{first}.html" if number == found[0][0] else f"{first}.html#{label(page, anchor)}"
            yield {"title": title.replace("`", ""), "page": found[0][2].replace("`", ""), "url": url,
                   "head": sorted(set(words(title))), "on": sorted(set(words(found[0][2]))), "text": sorted(set(words(below))),
                   "least": -4 if str(page.relative_to(root)) in BEHIND else 0}


def points_of(entry, word):
    if word in entry["head"]:
        points = 8
    elif any(w.startswith(word) for w in entry["head"]):
        points = 6
    elif any(w.startswith(word) for w in entry["on"]):
        points = 3
    else:
        points = any(w.startswith(word) for w in entry["text"])
    return points + (word in entry["on"])


def find(index, query):
    """The same as in the page's script."""
    asked = [word for word in words(query) if word not in STOP]
    rarity = {word: math.log(len(index) / (1 + sum(word in entry["text"] or word in entry["head"] for entry in index)))
              for word in asked}
    hits = []
    for place, entry in enumerate(index):
        score, missing = entry["least"], 0
        for word in asked:
            points = max(points_of(entry, word), *(points_of(entry, other) * 0.8 for other in SYNONYMS.get(word, [])), 0)
            missing += points == 0
            score += (points or -6) * rarity[word]
        if asked and 2 * missing <= len(asked) and missing < len(asked):
            hits.append((-score, len(entry["head"]), place))
    return [index[place] for _, _, place in sorted(hits)]


PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Weir: find an answer</title>
<style>body { font: 16px sans-serif; max-width: 46em; margin: 2em auto } input { width: 100%; font: inherit; padding: .4em }
li { margin: .5em 0 } small { color: #567 }</style></head>
<body><p><a href="index.html">Weir</a></p>
<input id="asked" type="search" autofocus placeholder="What do you want to do? pin memory, time a kernel, capture a graph …">
<ol id="found"></ol>
<script>
const index = INDEX, stop = STOP, synonyms = SYNONYMS;
const asked = document.getElementById("asked"), found = document.getElementById("found");
// The same as in docs/tools/search.py.
function points_of(entry, word) {
  const points = entry.head.includes(word) ? 8 : entry.head.some(w => w.startsWith(word)) ? 6
    : entry.on.some(w => w.startsWith(word)) ? 3 : entry.text.some(w => w.startsWith(word)) ? 1 : 0;
  return points + (entry.on.includes(word) ? 1 : 0);
}
function find(query) {
  const words = (query.toLowerCase().match(/[a-z0-9]+/g) || [])
    .map(w => w.length > 3 && w.endsWith("s") ? w.slice(0, -1) : w).filter(w => !stop.includes(w));
  const rarity = words.map(word =>
    Math.log(index.length / (1 + index.filter(entry => entry.text.includes(word) || entry.head.includes(word)).length)));
  const hits = [];
  index.forEach((entry, place) => {
    let score = entry.least, missing = 0;
    words.forEach((word, at) => {
      const points = Math.max(points_of(entry, word),
        ...(Object.hasOwn(synonyms, word) ? synonyms[word] : []).map(other => points_of(entry, other) * 0.8));
      if (!points) missing += 1;
      score += (points || -6) * rarity[at];
    });
    if (words.length && 2 * missing <= words.length && missing < words.length) hits.push([-score, entry.head.length, place]);
  });
  return hits.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).map(hit => index[hit[2]]);
}
asked.oninput = () => {
  found.replaceChildren(...find(asked.value).slice(0, 30).map(entry => {
    const item = document.createElement("li"), link = document.createElement("a"), page = document.createElement("small");
    link.href = entry.url;
    link.textContent = entry.title;
    page.textContent = " " + entry.page;
    item.append(link, page);
    return item;
  }));
};
</script></body></html>
"""

index = list(entries())
if sys.argv[1] == "--check":
    failed, asked = 0, 0
    for line in (root / "docs/tools/search-questions.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        query, wanted = (part.strip() for part in line.split("->"))
        asked += 1
        first = [entry["title"] for entry in find(index, query)[:3]]
        if wanted not in first:
            failed += 1
            print(f"'{query}' finds {first}, and not '{wanted}'")
    print(f"{asked} questions, {failed} without an answer")
    sys.exit(1 if failed or not asked else 0)
folder = Path(sys.argv[1])
made = {path.name: path.read_text(errors="replace") for path in folder.glob("*.html")}
for entry in index:
    file, _, anchor = entry["url"].partition("#")
    if file not in made or f'"{anchor}"' not in made[file] and anchor:
        sys.exit(f"find.html: there is no {entry['url']}")
(folder / "find.html").write_text(PAGE.replace("STOP", json.dumps(STOP)).replace("SYNONYMS", json.dumps(SYNONYMS))
                                  .replace("INDEX", json.dumps(index, separators=(",", ":"))))
