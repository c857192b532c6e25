#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a piece of a trace of the tool `timeline` (docs/tools.md) as a picture.

    timeline.py TRACE PICTURE [TITLE [FROM TO]]    FROM and TO: milliseconds behind the trace's first work of a stream

docs/timeline.svg is of: entropy FILE --no-png --slots 3 --readers 2 --chunk 1M, on the host backend, with WEIR_TOOLS=timeline and
WEIR_DISABLE_FEATURES=graph_capture, so that the operations of a graph are slices of their own.
"""
import sys
from pathlib import Path

from performance import COLOURS, Picture

LEFT, WIDTH, ROW, BAR = 90, 640, 24, 16
WORDS = {"memory_operations": "values: waits and writes"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{number: [values]} of one message of protobuf."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        found.setdefault(key >> 3, []).append(value)
    return found


def read(trace):
    """The tracks, {id: (name, whether it is a thread)}, and the slices: dicts. Fields by their numbers in Perfetto's protos."""
    tracks, slices, open_slices = {}, [], {}
    packets = list(map(fields, fields(trace)[1]))
    for packet in sorted(packets, key=lambda packet: packet.get(8, [0])[0]):  # by time; tracks come first
        if 60 in packet:  # track_descriptor
            track = fields(packet[60][0])
            if 4 in track:
                tracks[track[1][0]] = (fields(track[4][0])[5][0].decode(), True)
            elif 2 in track and 8 not in track:  # neither the process nor a counter
                tracks[track[1][0]] = (track[2][0].decode(), False)
            continue
        event = fields(packet[11][0])
        time, track, kind = packet[8][0], event[11][0], event[9][0]
        if kind == 1:  # TYPE_SLICE_BEGIN
            slices.append({"track": track, "begin": time, "end": time, "name": event[23][0].decode(), "depth": len(open_slices.get(track, [])),
                           "to": event.get(47, []), "from": event.get(48, [])})
            open_slices.setdefault(track, []).append(slices[-1])
        elif kind == 2:  # TYPE_SLICE_END
            open_slices[track].pop()["end"] = time
    return tracks, slices


def draw(tracks, slices, title, begin, end):
    def x(time):
        return LEFT + (min(max(time, begin), end) - begin) / (end - begin) * WIDTH

    seen = [s for s in slices if s["end"] > begin and s["begin"] < end and s["depth"] == 0]
    threads = sorted({s["track"] for s in seen if tracks[s["track"]][1]})
    streams = sorted({s["track"] for s in seen if not tracks[s["track"]][1]})
    rows = {track: 40 + ROW * i + (8 if track in streams else 0) for i, track in enumerate(threads + streams)}
    named = [s for s in seen if s["track"] in streams or "::" not in s["name"] and not s["name"].startswith("launch ")]
    times = {s["name"]: 0 for s in named}
    for s in named:
        times[s["name"]] += s["end"] - s["begin"]
    names = sorted(times, key=times.get, reverse=True)[:len(COLOURS) - 1]
    colours = dict(zip(names, COLOURS[:1] + COLOURS[2:]))  # grey is the threads'
    below = max(rows.values()) + ROW + 4
    picture = Picture(LEFT + WIDTH + 30, below + 44, title)
    step = next(step for step in (1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 5e7, 1e8) if (end - begin) / step <= 8)
    for i in range(int((end - begin) / step) + 1):
        picture.line(x(begin + i * step), 36, x(begin + i * step), below)
        picture.text(x(begin + i * step), below + 14, f"{i * step / 1e6:g} ms", "middle", colour="#555")
    for track, y in rows.items():
        kind, of = ("thread", threads) if track in threads else ("stream", streams)
        picture.text(LEFT - 8, y + BAR - 4, f"{kind} {of.index(track) + 1}", "end")
        picture.line(LEFT, y + BAR / 2, LEFT + WIDTH, y + BAR / 2)
    for s in seen:
        picture.bar(x(s["begin"]), rows[s["track"]], max(x(s["end"]) - x(s["begin"]), 0.6), BAR, colours.get(s["name"], COLOURS[1]))
    sources = {flow: s for s in slices if s["track"] in rows for flow in s["to"]}
    for s in seen:
        for source in (sources[flow] for flow in s["from"] if flow in sources):
            if source["track"] == s["track"] or not begin <= source["end"] <= end or not begin <= s["begin"] <= end:
                continue
            picture.line(x(source["end"]), rows[source["track"]] + BAR / 2, x(s["begin"]), rows[s["track"]] + BAR / 2, "#222")
    at = LEFT
    for name in [*names, "calls of Weir"]:
        picture.bar(at, below + 26, 10, 10, colours.get(name, COLOURS[1]))
        words = WORDS.get(name, name)
        picture.text(at + 15, below + 35, words)
        at += 40 + 6.6 * len(words)
    return str(picture)


def main(arguments):
    if len(arguments) not in (2, 3, 5):
        sys.exit(__doc__)
    tracks, slices = read(Path(arguments[0]).read_bytes())
    work = [s for s in slices if not tracks[s["track"]][1]]
    first, last = min(s["begin"] for s in work), max(s["end"] for s in work)
    begin, end = first, last
    if len(arguments) == 5:
        begin, end = (first + int(float(ms) * 1e6) for ms in arguments[3:])
    Path(arguments[1]).write_text(draw(tracks, slices, arguments[2] if len(arguments) > 2 else "", begin, end))


if __name__ == "__main__":
    main(sys.argv[1:])
