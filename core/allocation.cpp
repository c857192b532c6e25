// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "core/capture_hold.hpp"
#include "core/captures.hpp"
#include "core/disposal.hpp"
#include "core/enumerator.hpp"
#include "core/thread_state.hpp"
#include "core/waiting_frees.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/memory.hpp"
#include "weir/stream.hpp"

namespace weir {

std::string_view to_string(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::device: return "device";
    case MemoryKind::pinned: return "pinned";
    case MemoryKind::managed: return "managed";
  }
  return "unknown";
}

/// Spent `Allocation` objects, so that stream-ordered allocation does not allocate on the host. Never destroyed. Each thread
/// keeps one of its own: a thread that allocates and frees by turns takes no lock.
class AllocationPool {
 public:
  static AllocationPool& instance() noexcept {
    alignas(AllocationPool) static std::byte place[sizeof(AllocationPool)];
    static auto* const pool = ::new (place) AllocationPool;
    return *pool;
  }

  AllocationPtr take() {
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

  void give_back(Allocation* object) noexcept {
    if (own.object == nullptr && !own.gone) {
      own.object = object;
      if (!own.returned_at_end) [[unlikely]] return_at_end();
      return;
    }
    share(object);
  }

 private:
  // Of a type without a destructor, so that it is there for the destructors of other thread-local objects.
  struct Own {
    Allocation* object = nullptr;
    bool returned_at_end = false;
    bool gone = false;
  };
  static constinit thread_local Own own __attribute__((tls_model("initial-exec")));  // like ThreadState

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
  if (data_ == nullptr) return Disposal::anywhere;
  // Stream-ordered memory looks for captures itself.
  return stream_ != nullptr ? Disposal::driver : Disposal::driver_unsafe;
}

void Allocation::dispose() noexcept {
  Stream* const stream = stream_;
  if (stream != nullptr) {
    const Freeing freeing = stream->deallocate_async(*this);
    if (freeing != Freeing::done && put_off(freeing)) return;
  } else if (data_ != nullptr) {
    try {
      if (foreign_) {
        device_->do_close_memory(data_);
      } else {
        device_->do_deallocate(data_, kind_);
      }
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, std::string("memory is leaked: ") + e.what());
    }
  }
  const bool was_put_off = put_off_;
  data_ = nullptr;
  size_ = 0;
  stream_ = nullptr;
  capture_id_ = 0;
  foreign_ = false;
  put_off_ = false;
  AllocationPool::instance().give_back(this);
  // Last, and under no hold: the stream's end may run code of the user's.
  if (stream == nullptr) return;
  if (was_put_off) {
    stream->end_life();
  } else {
    stream->release_as_dependent();
  }
}

/// Hands this over to those who try again: false where it is leaked instead, since its stream is closed.
bool Allocation::put_off(Freeing freeing) noexcept {
  Stream* const stream = stream_;
  const bool is_first = !put_off_;
  // No owner of the stream any longer, but in need of its handle: the capture may be one that only the stream's end ends.
  if (is_first) {
    put_off_ = true;
    stream->lives_.fetch_add(1, std::memory_order_relaxed);
  }
  if (freeing == Freeing::after_captures) {
    DisposalQueue::instance().after_captures(this);  // may have ended this by now
  } else if (!WaitingFrees::add(this, freeing)) {
    if (is_first) {
      put_off_ = false;
      stream->lives_.fetch_sub(1, std::memory_order_relaxed);
    }
    const char* const why =
        freeing == Freeing::after_own_capture
            ? "the stream was closed while it was in a capture that goes on, and the free would become a node of it"
            : "the stream was closed while another stream's capture keeps the driver from freeing memory, and nothing keeps its "
              "handle alive until that is over; give wrap_stream a keep_alive";
    support::log(support::LogLevel::error, "stream-ordered memory is leaked: " + stream->describe() + ": " + why);
    return false;
  }
  if (is_first) stream->release_as_dependent();
  return true;
}

/// Whether a free may wait for a capture of foreign code's: the handle is sure to be there then.
bool Stream::may_wait(Freeing freeing) const noexcept {
  if (!is_closed()) return true;
  // A capture of the stream's own may end only with the handle, which would wait for this memory.
  return keeps_handle() && !(freeing == Freeing::after_own_capture && destroys_handle());
}

/// Frees the memory, or says what it has to wait for: a free would break a capture that is open, or become a node of it.
Allocation::Freeing Stream::deallocate_async(const Allocation& allocation) noexcept {
  const detail::CaptureHold hold;
  try {
    if (allocation.capture_id_ != 0) {
      // Within its capture the free is a node. After it the memory is the graph's, and goes with it.
      const CaptureInfo info = do_capture_info(false);
      if (info.status != CaptureStatus::active || info.id != allocation.capture_id_) return Freeing::done;
      // Another thread's stream has no name here. What was asked is this thread's, which may be in the same capture.
      if (is_of_another_thread()) return Freeing::after_other_capture;
      if (do_deallocate_async(allocation.data_)) return Freeing::done;
      throw Error(Errc::capture_unsupported, "Stream::allocate_async (free)", describe(),
                  "the driver refused to make the free a node of the capture that the memory was allocated in");
    }
    if (!hold.none_open()) return Freeing::after_captures;
    // Weir did not see those begin that foreign code begins, nor those end that a driver did not let this thread end.
    const bool may_capture = (flags_.load(std::memory_order_relaxed) & (flag_foreign | flag_closed | flag_per_thread)) != 0;
    if (may_capture && !is_of_another_thread() && do_capture_info(false).status != CaptureStatus::none) {
      return Freeing::after_own_capture;
    }
    if (!do_deallocate_async(allocation.data_)) return Freeing::after_other_capture;
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, std::string("stream-ordered memory is leaked: ") + e.what());
  }
  return Freeing::done;
}

// --- Allocating -------------------------------------------------------------------------------------------------------

AllocationPtr Stream::allocate_bytes_async(std::size_t bytes, MemoryPool* pool) {
  const char* const operation = "Stream::allocate_async";
  enter(operation);
  require(operation, Feature::async_allocation);
  (void)detail::byte_count(operation, bytes, 1);
  WaitingFrees::try_next();
  if (pool != nullptr && &pool->device() != device_) {
    throw Error(Errc::wrong_device, operation, describe(), "the pool is of " + pool->device().describe());
  }
  CaptureInfo capture;
  if (captures_matter()) {
    capture = usable_capture(operation);
    if (capture.status == CaptureStatus::active) {
      require(operation, Feature::graph_memory_nodes);
    } else {
      detail::check_unsafe_call(operation, *device_, *this);
    }
  }
  AllocationPtr allocation = AllocationPool::instance().take();
  allocation->device_ = device_;
  allocation->kind_ = MemoryKind::device;
  if (bytes == 0) return allocation;
  allocation->data_ = do_allocate_async(bytes, pool);
  allocation->size_ = bytes;
  allocation->capture_id_ = capture.id;
  allocation->stream_ = this;
  retain_as_dependent();
  return allocation;
}

AllocationPtr Device::make_allocation(void* data, std::size_t bytes, MemoryKind kind, bool foreign) {
  AllocationPtr allocation = AllocationPool::instance().take();
  allocation->device_ = this;
  allocation->data_ = data;
  allocation->size_ = bytes;
  allocation->kind_ = kind;
  allocation->foreign_ = foreign;
  return allocation;
}

AllocationPtr Device::allocate_bytes(std::size_t bytes, MemoryKind kind) {
  const char* const operation = "Device::allocate";
  enter(operation);
  detail::check_enumerator(operation, *this, "MemoryKind", kind, MemoryKind::managed);
  (void)detail::byte_count(operation, bytes, 1);
  if (kind == MemoryKind::managed) require(operation, Feature::managed_memory);
  if (bytes == 0) return make_allocation(nullptr, 0, kind, false);
  detail::check_unsafe_call(operation, *this, *this);
  AllocationPtr allocation = make_allocation(nullptr, 0, kind, false);
  allocation->data_ = do_allocate(bytes, kind);
  allocation->size_ = bytes;
  return allocation;
}

AllocationPtr Device::open_allocation(const InterprocessHandle& handle, std::size_t bytes) {
  const char* const operation = "Device::open_allocation";
  enter(operation);
  require(operation, Feature::interprocess_memory);
  detail::check_unsafe_call(operation, *this, *this);
  AllocationPtr allocation = make_allocation(nullptr, 0, MemoryKind::device, true);
  allocation->data_ = do_open_memory(handle);
  allocation->size_ = bytes;
  return allocation;
}

InterprocessHandle Device::interprocess_handle(const Allocation& allocation) const {
  const char* const operation = "Device::interprocess_handle";
  enter(operation);
  require(operation, Feature::interprocess_memory);
  if (&allocation.device() != this) {
    throw Error(Errc::wrong_device, operation, describe(), "the memory is of " + allocation.device().describe());
  }
  if (allocation.kind() != MemoryKind::device || allocation.stream() != nullptr || allocation.data() == nullptr) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "only device memory that was allocated at once can be shared; use Device::allocate");
  }
  return do_interprocess_handle(allocation);
}

// --- Checks of the templates ------------------------------------------------------------------------------------------

namespace detail {

void throw_bad_buffer(std::size_t count, std::size_t element_size, std::size_t bytes) {
  throw Error(Errc::invalid_argument, "Buffer", "",
              std::to_string(count) + " elements of " + std::to_string(element_size) + " bytes are not within an allocation of " +
                  std::to_string(bytes) + " bytes");
}

void throw_bad_subspan(std::size_t offset, std::size_t count, std::size_t size) {
  throw Error(Errc::invalid_argument, "Buffer::subspan", "",
              std::to_string(count) + " elements from element " + std::to_string(offset) + " are not within a buffer of " +
                  std::to_string(size));
}

void throw_not_host_accessible(const Allocation* allocation) {
  throw Error(Errc::invalid_argument, "Buffer::host", allocation != nullptr ? allocation->device().describe() : "",
              "the host cannot address device memory; copy it, or allocate MemoryKind::pinned or managed");
}

}  // namespace detail

// --- Registration -----------------------------------------------------------------------------------------------------

HostRegistration::~HostRegistration() {
  try {
    device_.do_unregister_host(data_);
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, std::string("host memory stays pinned: ") + e.what());
  }
}

Ptr<HostRegistration> Device::register_host(void* data, std::size_t bytes) {
  const char* const operation = "Device::register_host";
  enter(operation);
  require(operation, Feature::host_registration);
  (void)detail::byte_count(operation, bytes, 1);
  if (data == nullptr || bytes == 0) throw Error(Errc::invalid_argument, operation, describe(), "there is nothing to pin");
  detail::check_unsafe_call(operation, *this, *this);
  void* const device_pointer = do_register_host(data, bytes);
  try {
    return Ptr<HostRegistration>(new HostRegistration(*this, data, bytes, device_pointer));
  } catch (const std::bad_alloc&) {
    do_unregister_host(data);
    throw;
  }
}

// --- Pools ------------------------------------------------------------------------------------------------------------

namespace {

void enter_pool(const char* operation) {
  if (detail::barred()) detail::throw_barred(operation);
}

}  // namespace

std::size_t MemoryPool::used_bytes() const {
  enter_pool("MemoryPool::used_bytes");
  return do_used_bytes();
}
std::size_t MemoryPool::reserved_bytes() const {
  enter_pool("MemoryPool::reserved_bytes");
  return do_reserved_bytes();
}
void MemoryPool::trim_to(std::size_t keep) {
  enter_pool("MemoryPool::trim_to");
  detail::check_unsafe_call("MemoryPool::trim_to", device_, device_);
  do_trim_to(keep);
}
void MemoryPool::set_release_threshold(std::size_t bytes) {
  enter_pool("MemoryPool::set_release_threshold");
  do_set_release_threshold(bytes);
}

}  // namespace weir
