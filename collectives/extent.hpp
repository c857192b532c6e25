// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weir/plugin/communicator.hpp"

/// Computes the sizes of a collective call's data.
namespace weir::collectives {

/// The number of bytes that a call reads (`sent`) and writes (`received`) on its rank.
struct Extent {
  std::size_t sent = 0, received = 0;
};

inline Extent extent(const CollectiveCall& call) noexcept {
  using Kind = CollectiveCall::Kind;
  const std::size_t part = call.count * size_of(call.type);
  const std::size_t all = part * static_cast<std::size_t>(call.communicator->size());
  const bool is_root = call.peer == call.communicator->rank();
  switch (call.kind) {
    case Kind::all_reduce: return {part, part};
    case Kind::reduce: return {part, is_root ? part : 0};
    case Kind::broadcast: return {is_root ? part : 0, part};
    case Kind::all_gather: return {part, all};
    case Kind::reduce_scatter: return {all, part};
    case Kind::all_to_all: return {all, all};
    case Kind::send: return {part, 0};
    case Kind::receive: return {0, part};
    case Kind::barrier: break;
  }
  return {};
}

}  // namespace weir::collectives
