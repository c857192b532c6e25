// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <charconv>

// The titles of the rows in the table of capabilities.

namespace conformance {

std::string_view row_title(int row) {
  static constexpr std::array<std::string_view, row_count> titles = {
      "owning stream, from a device",
      "blocking and non-blocking",
      "priority",
      "priority range",
      "options at creation",
      "borrow a foreign handle",
      "adopt a foreign handle",
      "legacy and per-thread default stream",
      "close",
      "pool",
      "native handle",
      "equality, order, hash",
      "device, context",
      "id",
      "attributes",
      "print",
      "scope of a current stream",
      "current stream of a device",
      "synchronize",
      "query",
      "record",
      "wait for an event",
      "wait for a stream",
      "cached event of a stream",
      "external events in graphs",
      "event timing, blocking wait, inter-process",
      "submit from many threads",
      "host function",
      "callback with status",
      "host work inside a graph",
      "begin, modes and end of a capture",
      "capture a function",
      "capture status",
      "capture info",
      "join a capture that others began",
      "fork and join by events",
      "instantiate, upload, launch, relaunch, update",
      "debug dot, node count, edges, clone",
      "memory operations inside a capture",
      "memory freed, graphs destroyed during a capture",
      "conditional nodes, pause and resume, child graphs",
      "typed copy between buffers",
      "copies and fills",
      "attach managed memory",
      "write value",
      "wait value",
      "batch of memory operations",
      "stream-ordered allocation",
  };
  return titles.at(static_cast<std::size_t>(row - 1));
}

std::vector<int> rows_of(std::string_view name) {
  std::vector<int> rows;
  for (;;) {
    const std::string_view word = name.substr(0, name.find(' '));
    if (word.size() < 2 || word.front() != 'S') return rows;
    int row = 0;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), row);
    if (error != std::errc() || end != word.data() + word.size() || row < 1 || row > row_count) return rows;
    rows.push_back(row);
    if (word.size() == name.size()) return rows;
    name.remove_prefix(word.size() + 1);
  }
}

}  // namespace conformance
