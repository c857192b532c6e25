// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "core/base/enum_name.hpp"
#include "core/base/no_destructor.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

// Memory: allocation and release, stream-ordered memory, pools, and pinned host memory.
namespace weir {

std::string_view to_string(MemoryKind kind) noexcept { return detail::enum_name(kind, {"device", "pinned", "managed"}); }

/// Unused `Allocation` objects, which are reused so that stream-ordered allocation does not allocate on the heap. Each
/// thread also keeps one unused object for itself, so that alternately allocating and freeing needs no lock. Never
/// destroyed.
class AllocationPool {
 public:
  static AllocationPool& instance() noexcept {
    static detail::NoDestructor<AllocationPool> pool;
    return *pool;
  }

  /// Returns an allocation of size 0.
  AllocationPtr take(Device& device, MemoryKind kind) {
    AllocationPtr allocation = take_any();
    allocation->device_ = &device;
    allocation->kind_ = kind;
    return allocation;
  }

  void give_back(Allocation* object) noexcept {
    object->data_ = nullptr;
    object->size_ = 0;
    object->stream_ = nullptr;
    object->capture_id_ = 0;
    object->deleter_.reset();
    if (own.object == nullptr && !own.gone) {
      own.object = object;
      if (!own.returned_at_end) [[unlikely]]
        return_at_end();
      return;
    }
    share(object);
  }

 private:
  AllocationPtr take_any() {
    if (Allocation* const object = std::exchange(own.object, nullptr)) return AllocationPtr::first(object);
    {
      std::lock_guard lock(mutex_);
      if (Allocation* const object = free_) {
        free_ = object->next_;
        return AllocationPtr::first(object);
      }
    }
    return AllocationPtr(new Allocation);
  }

  // The thread's own object. Has no destructor, so that destructors of other thread-local objects can still use it while the
  // thread ends.
  struct Own {
    Allocation* object = nullptr;
    bool returned_at_end = false;
    bool gone = false;
  };
  // The attribute gives the fastest access to a thread-local variable. ThreadState uses it too.
  static constinit thread_local Own own __attribute__((tls_model("initial-exec")));

  static void return_at_end() noexcept {
    struct AtEnd {
      ~AtEnd() {
        own.gone = true;
        if (own.object != nullptr) instance().share(std::exchange(own.object, nullptr));
      }
    };
    thread_local AtEnd at_end;
    own.returned_at_end = true;
  }

  void share(Allocation* object) noexcept {
    std::lock_guard lock(mutex_);
    object->next_ = free_;
    free_ = object;
  }

  std::mutex mutex_;
  Allocation* free_ = nullptr;
};

constinit thread_local AllocationPool::Own AllocationPool::own __attribute__((tls_model("initial-exec")));

// --- Freeing ----------------------------------------------------------------------------------------------------------

Disposal Allocation::disposal() const noexcept {
  return data_ == nullptr && !deleter_ ? Disposal::anywhere : Disposal::driver;
}

void Allocation::dispose() noexcept {
  if (is_named_.load(std::memory_order_relaxed)) [[unlikely]]
    forget_name();
  Stream* const stream = stream_;
  if (stream != nullptr) {
    if (!StreamCore::deallocate_async(*stream, *this) && StreamCore::defer(*stream, *this)) {
      StreamCore::release_as_dependent(*stream);
      return;
    }
  } else if (data_ != nullptr || deleter_) {
    try {
      const auto release = [this] {
        if (deleter_)
          deleter_(data_);
        else
          impl(*device_).do_deallocate(data_, kind_);
      };
      detail::perform_always(
          *device_, OperationKind::free, "Allocation", [this](ToolNotice& notice) { notice.allocation(*this); }, release);
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, "memory is leaked: ", e.what());
    } catch (...) {
      support::log(support::LogLevel::error, "memory is leaked: its deleter threw an object that is not a std::exception");
    }
  }
  AllocationPool::instance().give_back(this);
  // Must be last and without a lock: this may destroy the stream, whose `keep_alive` may run code of the program.
  if (stream != nullptr) StreamCore::release_as_dependent(*stream);
}

/// Frees the memory, and reports the free to tools. Returns false without freeing if the driver refuses because another
/// stream captures.
bool StreamCore::free_now(Stream& stream, const Allocation& allocation, const CaptureState& capture) {
  const auto release = [&] { return impl(stream).do_deallocate_async(allocation.data_, capture); };
  if (!is_watched(stream)) [[likely]]
    return release();
  return out_of_line([&] {
    return ToolNotice(stream, OperationKind::free, "Allocation", capture).allocation(allocation).run_always(release);
  });
}

/// Frees stream-ordered memory, unless its graph will free it. Returns false without freeing if an open capture forbids it;
/// the caller then defers the free.
bool StreamCore::deallocate_async(Stream& stream, const Allocation& allocation) noexcept {
  if (stream.device_->is_poisoned()) return true;  // the memory is lost with the device's state
  CaptureState capture;
  try {
    capture = known_capture(stream);
    if (allocation.capture_id_ != 0) {
      // The capture has ended, so the graph owns the memory and frees it.
      if (capture.id != allocation.capture_id_) return true;
      const auto began = Captures::instance().find(key(stream));
      const bool is_fork =
          began ? began->id != capture.id : Captures::instance().is_open(stream.device_->backend(), capture.id);
      if (is_fork) return true;
      if (free_now(stream, allocation, capture)) return true;
      support::log(support::LogLevel::warn, "a free could not be captured, so the memory is freed with the graph");
      return true;
    }
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "stream-ordered memory is leaked: ", e.what());
    return true;
  }
  // The memory was not allocated in the present capture. Freeing it now would add a node that frees it again at each launch.
  return capture.status == CaptureStatus::none && try_to_free(stream, allocation);
}

/// Frees memory outside of captures. Returns false if the driver refuses because another stream captures, or if the host has
/// no memory to enqueue the free. Other errors leak the memory.
bool StreamCore::try_to_free(Stream& stream, const Allocation& allocation) noexcept {
  try {
    return free_now(stream, allocation, CaptureState{});
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "stream-ordered memory is leaked: ", e.what());
    return true;
  }
}

namespace {

/// Guards the lists of deferred frees of all streams. One mutex suffices, because such lists are rare and short.
std::mutex deferred_mutex;

}  // namespace

/// Adds the memory to the stream's list of deferred frees. If the stream is closed, leaks the memory and returns false,
/// because the native stream may be destroyed before the capture ends.
bool StreamCore::defer(Stream& stream, Allocation& allocation) noexcept {
  {
    const std::lock_guard lock(deferred_mutex);
    if (!stream.is_closed()) {
      allocation.next_ = std::exchange(impl(stream).deferred_, &allocation);
      stream.flags_.fetch_or(flag_deferred, std::memory_order_release);
      return true;
    }
  }
  support::log(support::LogLevel::error,
               "stream-ordered memory is leaked: a capture forbids freeing it, and its stream is closed; close the stream "
               "after the capture has ended");
  return false;
}

/// Frees the memory in the stream's list of deferred frees, unless a capture still forbids it. With `last_chance`, leaks
/// memory that cannot be freed; otherwise it stays in the list.
void StreamCore::free_deferred(Stream& stream, bool last_chance) noexcept {
  if ((flags(stream) & flag_deferred) == 0) return;
  const bool is_lost = stream.device_->is_poisoned();
  bool captures = true;
  try {
    captures = !is_lost && known_capture(stream).status != CaptureStatus::none;
  } catch (const std::exception&) {
    // The stream cannot be queried: treat it as capturing.
  }
  if (captures && !last_chance) return;
  Allocation* list = nullptr;
  {
    const std::lock_guard lock(deferred_mutex);
    list = std::exchange(impl(stream).deferred_, nullptr);
    stream.flags_.fetch_and(~flag_deferred, std::memory_order_relaxed);
  }
  while (list != nullptr) {
    Allocation& allocation = *std::exchange(list, list->next_);
    const bool freed = is_lost || (!captures && try_to_free(stream, allocation));
    if (!freed && !last_chance && defer(stream, allocation)) continue;
    if (!freed && last_chance) {
      support::log(support::LogLevel::error,
                   "stream-ordered memory is leaked: a capture forbids freeing it, and its stream is being destroyed; end "
                   "the capture first");
    }
    AllocationPool::instance().give_back(&allocation);
  }
}

// --- Allocating -------------------------------------------------------------------------------------------------------

namespace {

struct Allocate {
  static constexpr OperationKind kind = OperationKind::allocate;
  static constexpr Capturing capturing = Capturing::node;
  const Allocation& memory;
  MemoryPool* pool;
  void describe(ToolNotice& notice) const { notice.allocation(memory); }
  void* enqueue(StreamImpl& stream, const CaptureState& capture) const {
    return stream.do_allocate_async(memory.size_bytes(), pool, capture);
  }
};

}  // namespace

AllocationPtr Stream::allocate_bytes_async(std::size_t bytes, MemoryPoolRef from) {
  MemoryPool* const pool = from.get();
  const StreamCall call(*this, "Stream::allocate_async");
  call.require(Feature::async_allocation);
  call.check_bytes(bytes);
  if (pool != nullptr) call.check_device(pool->device(), "the pool");
  const CaptureState capture = call.usable_capture();
  if (capture) {
    call.require(Feature::graph_memory_nodes);
  } else {
    call.check_unsafe();
  }
  AllocationPtr allocation = AllocationPool::instance().take(*device_, MemoryKind::device);
  if (bytes == 0) return allocation;
  allocation->size_ = bytes;
  allocation->capture_id_ = capture.id;
  allocation->data_ = perform(*this, call.operation(), capture, Allocate{*allocation, pool});
  allocation->stream_ = this;
  retain_as_dependent();
  return allocation;
}

AllocationPtr Device::allocate_bytes(std::size_t bytes, MemoryKind kind) {
  const Call call(*this, "Device::allocate");
  call.check_enumerator("MemoryKind", kind, MemoryKind::managed);
  call.check_bytes(bytes);
  if (kind == MemoryKind::managed) call.require(Feature::managed_memory);
  AllocationPtr allocation = AllocationPool::instance().take(*this, kind);
  if (bytes == 0) return allocation;
  call.check_unsafe();
  allocation->size_ = bytes;
  allocation->data_ = perform(
      *this, OperationKind::allocate, call.operation(), [&](ToolNotice& notice) { notice.allocation(*allocation); },
      [&] { return impl(*this).do_allocate(bytes, kind); });
  return allocation;
}

AllocationPtr Device::adopt_memory(void* data, std::size_t bytes, MemoryKind kind, MemoryDeleter deleter) {
  const Call call(*this, "Device::adopt_memory");
  call.check_enumerator("MemoryKind", kind, MemoryKind::managed);
  call.check_bytes(bytes);
  if (data == nullptr && bytes != 0) call.throw_error(Errc::invalid_argument, "the address is null");
  AllocationPtr allocation = AllocationPool::instance().take(*this, kind);
  allocation->size_ = bytes;
  perform(
      *this, OperationKind::allocate, call.operation(), [&](ToolNotice& notice) { notice.allocation(*allocation); },
      [&] {
        allocation->deleter_ = deleter ? std::move(deleter) : MemoryDeleter([](void*) {});
        return allocation->data_ = data;
      });
  return allocation;
}

AllocationPtr Device::open_allocation(const InterprocessHandle& handle, std::size_t bytes) {
  const Call call(*this, "Device::open_allocation");
  call.require(Feature::interprocess_memory);
  call.check_unsafe();
  AllocationPtr allocation = AllocationPool::instance().take(*this, MemoryKind::device);
  allocation->deleter_ = [this](void* memory) { impl(*this).do_close_memory(memory); };
  allocation->size_ = bytes;
  allocation->data_ = perform(
      *this, OperationKind::allocate, call.operation(), [&](ToolNotice& notice) { notice.allocation(*allocation); },
      [&] { return impl(*this).do_open_memory(handle); });
  return allocation;
}

InterprocessHandle Device::interprocess_handle(const Allocation& allocation) const {
  const Call call(*this, "Device::interprocess_handle");
  call.require(Feature::interprocess_memory);
  call.check_device(allocation.device(), "the memory");
  if (allocation.kind() != MemoryKind::device || allocation.stream() != nullptr || allocation.data() == nullptr) {
    call.throw_error(Errc::invalid_argument, "only device memory of Device::allocate can be shared with other processes");
  }
  // A driver's handle is for a whole block of memory, but memory of other code may be only a part of a block.
  if (allocation.deleter_) {
    call.throw_error(
        Errc::invalid_argument,
        "Weir did not allocate this memory (Device::adopt_memory, open_allocation), and a driver's handle would share the "
        "whole block that contains it; share memory of Device::allocate, or share it with the code that allocated it");
  }
  return impl(*this).do_interprocess_handle(allocation);
}

// --- Checks of the templates ------------------------------------------------------------------------------------------

namespace detail {

void throw_bad_buffer(std::size_t count, std::size_t element_size, std::size_t bytes) {
  throw Error(Errc::invalid_argument, "Buffer", "",
              std::to_string(count) + " elements of " + std::to_string(element_size) +
                  " bytes are not within an allocation of " + std::to_string(bytes) + " bytes");
}

void throw_bad_subspan(std::size_t offset, std::size_t count, std::size_t size) {
  throw Error(Errc::invalid_argument, "Buffer::subspan", "",
              std::to_string(count) + " elements from element " + std::to_string(offset) + " are not within a buffer of " +
                  std::to_string(size));
}

void throw_not_host_accessible(const Allocation* allocation) {
  throw Error(Errc::invalid_argument, "Buffer::host", allocation != nullptr ? allocation->device().describe() : "",
              "the host cannot access device memory; copy it, or allocate MemoryKind::pinned or managed");
}

}  // namespace detail

// --- Registration -----------------------------------------------------------------------------------------------------

HostRegistration::~HostRegistration() {
  try {
    perform(
        device_, OperationKind::unregister_host, "HostRegistration",
        [this](ToolNotice& notice) { notice.writes(data_, size_); }, [this] { impl(device_).do_unregister_host(data_); });
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "host memory stays pinned: ", e.what());
  }
}

Ptr<HostRegistration> Device::register_host(void* data, std::size_t bytes) {
  const Call call(*this, "Device::register_host");
  call.require(Feature::host_registration);
  call.check_bytes(bytes);
  if (data == nullptr || bytes == 0) call.throw_error(Errc::invalid_argument, "the address is null or the size is 0");
  call.check_unsafe();
  void* device_pointer = nullptr;
  perform(
      *this, OperationKind::register_host, call.operation(), [&](ToolNotice& notice) { notice.writes(data, bytes); },
      [&] { device_pointer = impl(*this).do_register_host(data, bytes); });
  try {
    return Ptr<HostRegistration>(new HostRegistration(*this, data, bytes, device_pointer));
  } catch (const std::bad_alloc&) {
    impl(*this).do_unregister_host(data);
    throw;
  }
}

// --- Pools ------------------------------------------------------------------------------------------------------------

std::size_t MemoryPool::used_bytes() const {
  (void)Call(device_, "MemoryPool::used_bytes");
  return impl(*this).do_used_bytes();
}
std::size_t MemoryPool::reserved_bytes() const {
  (void)Call(device_, "MemoryPool::reserved_bytes");
  return impl(*this).do_reserved_bytes();
}
void MemoryPool::trim_to(std::size_t keep) {
  Call(device_, "MemoryPool::trim_to").check_unsafe();
  impl(*this).do_trim_to(keep);
}
void MemoryPool::set_release_threshold(std::size_t bytes) {
  (void)Call(device_, "MemoryPool::set_release_threshold");
  impl(*this).do_set_release_threshold(bytes);
}

}  // namespace weir
