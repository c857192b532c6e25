// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <type_traits>

/// `made_by_first`: what rank 0 makes for all ranks.
namespace weir::collectives {

/// Returns what `make` returns on rank 0; nullopt on the other ranks if it throws there. `share(message)` copies the message
/// of rank 0, which has a fixed size, to all ranks. Rank 0 calls it also after a failure, because the others wait for it.
template <class Make, class Share>
auto made_by_first(int rank, Make make, Share share) {
  using T = decltype(make());
  struct Message {
    T value{};
    bool is_there = false;
  } message;
  static_assert(std::is_trivially_copyable_v<T>);
  std::exception_ptr failure;
  if (rank == 0) try {
      message = {make(), true};
    } catch (...) {
      failure = std::current_exception();
    }
  share(message);
  if (failure) std::rethrow_exception(failure);
  return message.is_there ? std::optional<T>(message.value) : std::nullopt;
}

}  // namespace weir::collectives
