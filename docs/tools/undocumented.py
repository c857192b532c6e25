#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists public names without a comment: undocumented.py XML_FOLDER, the folder of Doxygen's XML.

One comment serves all overloads of a name, and all specializations of a template. Every type, function, constant and macro needs one. Not so fields and enumerators,
which the comment of their type may explain, nor constructors, destructors and operators, which do what they always do, nor what backends implement: `do_copy` is `copy`
behind its checks.
"""
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


def text(element, *names):
    return "".join("".join(found.itertext()).strip() for name in names for found in element.findall(name))


missing = []
count = 0
classes = {}  # by name without template arguments: whether one of them, the primary template or a specialization, has a comment
for path in sorted(Path(sys.argv[1]).glob("*.xml")):
    compound = xml.parse(path).getroot().find("compounddef")
    if compound is None or compound.get("kind") not in ("class", "struct", "namespace", "file"):
        continue
    name = compound.findtext("compoundname")
    if name.startswith("std"):
        continue
    if compound.get("kind") in ("class", "struct"):
        count += 1
        place = compound.find("location")
        here = classes.setdefault(name.split("<")[0].strip(), [False, (place.get("file"), place.get("line"), name)])
        here[0] |= bool(text(compound, "briefdescription", "detaileddescription"))
    members = [m for m in compound.iter("memberdef") if m.get("prot") == "public"]
    said = {m.findtext("name") for m in members if text(m, "briefdescription", "detaileddescription")}
    for member in members:
        plain = member.findtext("name")
        if member.get("kind") == "variable" and compound.get("kind") == "struct":
            continue
        is_constructor = plain == name.split("<")[0].strip().split("::")[-1]
        if is_constructor or plain.startswith(("operator", "~", "do_")) or member.get("kind") == "friend":
            continue
        count += 1
        if plain not in said:
            place = member.find("location")
            missing.append((place.get("file"), place.get("line"), f"{name}::{plain}"))
            said.add(plain)
missing += [place for said, place in classes.values() if not said]
for file, line, name in sorted(missing, key=lambda m: (m[0], int(m[1] or 0))):
    print(f"{file}:{line}: {name} has no comment")
print(f"{count} public names, {len(missing)} without a comment")
sys.exit(1 if missing or not count else 0)
