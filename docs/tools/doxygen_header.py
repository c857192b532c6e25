#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's filter for the headers: says in Doxygen's words what the headers say in their own.

- The comment above `namespace weir` is the file's.
- `// --- Streams ---` begins a group of members; what backends override is a group of its own.
- The features and the codes of errors, which macros list, are written out.
- Private members are left out, and definitions of members outside of their class, and what is said about names of std.
"""
import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text()

# The features and the codes of errors.
for table, form in (("FEATURE_ENUMERATOR", r'^  X\((\w+), "(.*?)"\)'),
                    ("ERROR_CODE", r'^  X\((\d+), (\w+), \w+, \w+,\s*\\?\s*"(.*?)"\)')):
    named = re.search(rf"#define WEIR_{table}.*?#undef WEIR_{table}", text, re.S)
    if named:
        listed = text if "FEATURE" in table else (Path(sys.argv[1]).parent / "errors.h").read_text()
        enumerators = "\n".join(f"  {' = '.join(reversed(names))},  ///< {words}." for *names, words in re.findall(form, listed, re.M))
        text = text.replace(named[0], enumerators)
text = re.sub(r"^#define WEIR_FEATURES\(X\)(.*\\\n)+.*\n", "#define WEIR_FEATURES(X)\n", text, flags=re.M)

# The file's comment.
text = re.sub(r"(?:^///.*\n)+(?=namespace weir)", lambda comment: "/// @file\n" + comment[0] + "\n", text, count=1, flags=re.M)
text = re.sub(r"(?:^///.*\n)+(?=extern \"C\")", lambda comment: "/// @file\n" + comment[0] + "\n" if "@file" not in text else comment[0],
              text, count=1, flags=re.M)

text = re.sub(r"^template <[^>]*>\ninline constexpr bool std::.*\n", "", text, flags=re.M)
text = re.sub(r"^template <[^>]*>\n\S.*\w+<\w+>::\w+\(.*\{\n(?:  .*\n|\n)*}\n", "", text, flags=re.M)

lines, group, hidden = [], None, False


def close():
    global group
    if group is not None:
        lines.append(f"{group}///@}}")
    group = None


def begin(indent, title):
    global group
    close()
    lines.extend([f"{indent}/// @name {title}", f"{indent}///@{{"])
    group = indent


all_lines = text.splitlines()
for number, line in enumerate(all_lines):
    section = re.match(r"( *)// --- (.*?) -+$", line)
    access = re.match(r" (public|protected|private):", line)
    if section:
        begin(section[1], section[2])
        continue
    if access or line.startswith("};") or re.match(r"}  // namespace", line):
        close()
    if access or line.startswith("};"):
        hidden = access is not None and access[1] == "private"
    if hidden:
        continue
    lines.append(line)
    if access and access[1] == "protected":
        rest = "\n".join(all_lines[number:]).split("\n};")[0].split("\n private:")[0]
        if " do_" in rest:
            begin("  ", "For backends")
print("\n".join(lines))
