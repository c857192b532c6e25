// SPDX-License-Identifier: Apache-2.0
#include "weir/result.hpp"

#include <exception>
#include <new>

#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/graph.hpp"
#include "weir/stream.hpp"

namespace weir {
namespace {

/// Out of memory even for the text of an error: made when the library is loaded, and copied from then on.
const Error& no_memory() noexcept {
  static const Error error(Errc::out_of_memory, "attempt", "", "the host has no memory left");
  return error;
}
[[maybe_unused]] const Error& made_early = no_memory();

}  // namespace

Result<void> detail::attempt(void (*function)(void*), void* context) noexcept {
  try {
    try {
      function(context);
      return {};
    } catch (const Error& error) {
      return error;
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::exception& error) {
      return Error(Errc::backend_failure, "attempt", "", error.what());
    } catch (...) {
      return Error(Errc::backend_failure, "attempt", "", "the function threw what is no std::exception");
    }
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<void> Stream::try_synchronize() noexcept {
  return attempt([this] { synchronize(); });
}
Result<bool> Stream::try_is_complete() const noexcept {
  return attempt([this] { return is_complete(); });
}
Result<void> Stream::try_close() noexcept {
  return attempt([this] { close(); });
}
Result<EventPtr> Stream::try_record() noexcept {
  return attempt([this] { return record(); });
}
Result<void> Stream::try_record(Ref<Event> event) noexcept {
  return attempt([&] { record(event); });
}
Result<void> Stream::try_wait(EventRef event) noexcept {
  return attempt([&] { wait(event); });
}
Result<void> Stream::try_wait(StreamRef other) noexcept {
  return attempt([&] { wait(other); });
}
Result<void> Stream::try_copy_bytes(void* destination, const void* source, std::size_t bytes) noexcept {
  return attempt([&] { copy_bytes(destination, source, bytes); });
}
Result<AllocationPtr> Stream::try_allocate_bytes_async(std::size_t bytes, MemoryPoolRef pool) noexcept {
  return attempt([&] { return allocate_bytes_async(bytes, pool); });
}
Result<AllocationPtr> Device::try_allocate_bytes(std::size_t bytes, MemoryKind kind) noexcept {
  return attempt([&] { return allocate_bytes(bytes, kind); });
}
Result<void> Event::try_synchronize() const noexcept {
  return attempt([this] { synchronize(); });
}
Result<bool> Event::try_is_complete() const noexcept {
  return attempt([this] { return is_complete(); });
}
Result<void> GraphExec::try_launch(StreamRef stream) noexcept {
  return attempt([&] { launch(stream); });
}

}  // namespace weir
