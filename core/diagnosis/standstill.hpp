// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

/// Whether anything can still happen in this process, by what the kernel says of its threads.
namespace weir::detail {

/// Whether each thread, but those that only watch, sleeps until another thread wakes it; no signal can come that the program
/// handles; and `is_blocked`, called meanwhile, agrees. False where that is not known.
bool nothing_can_happen(const std::function<bool()>& is_blocked) noexcept;
/// Whether something else than this process's threads may write there: other processes, or hardware whose driver the process
/// uses, such as a GPU or a network card.
bool is_shared_memory(const void* address) noexcept;

}  // namespace weir::detail
