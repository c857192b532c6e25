// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "weir/plugin/flight_recorder.hpp"

/// Texts of a collective operation, and whether two calls are the same one.
namespace weir::collectives {

inline bool is_paired(const CollectiveCall& call) noexcept {
  return call.kind == CollectiveCall::Kind::send || call.kind == CollectiveCall::Kind::receive;
}
inline bool reduces(const CollectiveCall& call) noexcept {
  using enum CollectiveCall::Kind;
  return call.kind == all_reduce || call.kind == reduce || call.kind == reduce_scatter;
}
inline bool has_root(const CollectiveCall& call) noexcept {
  return call.kind == CollectiveCall::Kind::broadcast || call.kind == CollectiveCall::Kind::reduce;
}

/// Describes a call: "all_reduce of 1024 float32 by sum", "send of 4 int8 to rank 2".
inline std::string describe(const CollectiveCall& call) {
  if (call.kind == CollectiveCall::Kind::barrier) return "barrier";
  std::string text = fmt::format("{} of {} {}", to_string(call.kind), call.count, to_string(call.type));
  if (reduces(call)) text += fmt::format(" by {}", to_string(call.reduction));
  if (has_root(call)) text += fmt::format(" with root {}", call.peer);
  return text;
}

/// Describes a call of the recorder with the number that all ranks give it: "all_reduce of 1024 float32 by sum (number 17)",
/// "receive of 4 int8 from rank 2 (message 3)".
inline std::string describe(const FlightRecorder::Entry& entry) {
  std::string text = describe(entry.call);
  if (is_paired(entry.call)) {
    const bool sends = entry.call.kind == CollectiveCall::Kind::send;
    text += fmt::format(" {} rank {} (message {})", sends ? "to" : "from", entry.call.peer, entry.call.match);
  } else if (!entry.is_captured) {
    text += fmt::format(" (number {})", entry.call.match);
  }
  return text;
}

}  // namespace weir::collectives
