// SPDX-License-Identifier: Apache-2.0
#include "weir/ptr.hpp"

#include "core/runtime/reclaimer.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/plugin/support.hpp"
#include "weir/error.hpp"

// The end of an object's last owner, and the check for host functions and forked processes.
namespace weir {
namespace detail {

constinit thread_local ThreadState thread_state;

std::uint64_t new_thread_token() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void check_calls_allowed(const char* operation) {
  if (forked()) {
    throw Error(Errc::forked_process, operation, "",
                "this process was forked from one that had opened Weir, and drivers do not survive a fork; use Weir only in "
                "the child, or start the child with exec");
  }
  if (!thread_state.in_host_function) return;
  throw Error(Errc::called_from_host_function, operation, "",
              "a host function or callback must not call Weir, because drivers would deadlock; pass the work to another "
              "thread, or enqueue it after the host function");
}

}  // namespace detail

namespace support {

HostFunctionScope::HostFunctionScope() noexcept : outer_(detail::thread_state.in_host_function) {
  detail::thread_state.in_host_function = true;
}
HostFunctionScope::~HostFunctionScope() { detail::thread_state.in_host_function = outer_; }

}  // namespace support

void RefCounted::last_release() const noexcept {
  // Leak the object in a forked child: drivers do not work there, and threads that do not exist in the child may hold locks.
  if (detail::forked()) [[unlikely]] return;
  auto* const self = const_cast<RefCounted*>(this);
  if (detail::thread_state.in_host_function && disposal() == Disposal::driver) {
    Reclaimer::instance().dispose(self);
    return;
  }
  self->dispose();
}

}  // namespace weir
