// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/span.hpp"
#include "weir/unique_function.hpp"

/// Memory: `Allocation` (a block with shared ownership), `Buffer` (typed elements), `MemoryPool` (stream-ordered memory),
/// and `HostRegistration` (pinning of existing host memory).
namespace weir {

/// The kind of memory: where the memory is, and whether device and host can access it.
enum class MemoryKind : std::uint8_t {
  device,   ///< the device's own memory; the host may not access it
  pinned,   ///< page-locked host memory: the device can access it, and copies from and to it are asynchronous
  managed,  ///< host and device use the same address; the driver moves the memory between them
};
WEIR_API std::string_view to_string(MemoryKind) noexcept;

/// A function that frees memory that Weir did not allocate. Called once, with the address.
using MemoryDeleter = UniqueFunction<void(void*), 24>;

/// A block of memory, freed when its last owner releases it.
///
/// Memory of `Device::allocate` is freed immediately, even while a capture is open; if the last owner is a host function,
/// another thread frees it. The free waits for work of the memory's own device. It does not wait for work of other devices:
/// if such work uses the memory, wait for it before releasing the last owner.
///
/// Memory of `Stream::allocate_async` is freed in the order of its stream, after all work enqueued on the stream, without
/// blocking. If an open capture does not allow the free, Weir tries again at the next call on the stream, or when the stream
/// is destroyed. If the free is not possible then either, the memory leaks and an error is logged.
///
/// Memory allocated in a capture belongs to the graph. If its last owner releases it during the capture, on the stream that
/// began the capture, a node of the graph frees it. Otherwise each launch frees the memory that the previous launch has
/// allocated, and the destruction of the executable frees the rest (see `InstantiateOptions::auto_free_on_launch`), even if
/// the allocation still has an owner. The second rule also applies to memory of streams that have joined the capture,
/// because such a stream may have been joined back before the memory is released.
class WEIR_API Allocation final : public RefCounted {
 public:
  /// The first byte; null for zero bytes. Memory that Weir allocated is aligned to 256 bytes.
  void* data() const noexcept { return data_; }
  /// The requested size in bytes.
  std::size_t size_bytes() const noexcept { return size_; }
  /// The kind of the memory.
  MemoryKind kind() const noexcept { return kind_; }
  /// The device that the memory was allocated on.
  Device& device() const noexcept { return *device_; }
  /// The stream in whose order the memory is freed; null for memory that is not stream-ordered.
  Stream* stream() const noexcept { return stream_; }
  /// Whether the host may read and write the memory directly.
  bool host_accessible() const noexcept { return kind_ != MemoryKind::device; }
  /// Names the memory for tools, until it is freed. Empty removes the name.
  void set_name(std::string_view name);
  /// The name of the memory, or empty.
  [[nodiscard]] std::string name() const;

 private:
  friend class AllocationPool;
  friend class Device;
  friend class Stream;
  friend struct detail::StreamCore;
  Allocation() = default;
  ~Allocation() override = default;
  void dispose() noexcept override;
  Disposal disposal() const noexcept override;
  void forget_name() noexcept;

  void* data_ = nullptr;
  std::size_t size_ = 0;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;          // kept alive by this object (as a dependent); or this object is in the stream's list
                                      // of deferred frees
  std::uint64_t capture_id_ = 0;      // the capture that allocated it, or 0
  MemoryKind kind_ = MemoryKind::device;
  std::atomic<bool> is_named_ = false;
  MemoryDeleter deleter_;             // frees memory that Weir did not allocate; otherwise empty
  Allocation* next_ = nullptr;        // the next element of a list: of unused objects, or of a stream's deferred frees
};

/// Shared owner of an `Allocation`.
using AllocationPtr = Ptr<Allocation>;

namespace detail {
[[noreturn]] WEIR_API void throw_bad_buffer(std::size_t count, std::size_t element_size, std::size_t bytes);
[[noreturn]] WEIR_API void throw_not_host_accessible(const Allocation*);

/// Whether any tools are loaded (docs/tools.md). Constant once the first device is open.
WEIR_API extern std::atomic<bool> tools_watch;
/// Reports to tools that the host may read and write this memory now.
WEIR_API void note_host_access(const Allocation& allocation, const void* data, std::size_t bytes);
}  // namespace detail

/// An owner of `size()` elements of type `T` in device, pinned or managed memory. Movable; a moved-from buffer is empty. Not
/// copyable, because a copy would share the elements instead of copying them: call `share()` for a second owner, and pass a
/// `Span` to functions that only use the elements.
template <class T>
class [[nodiscard]] Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds trivially copyable types only");

 public:
  /// The type of an element.
  using element_type = T;

  Buffer() = default;
  /// Becomes an owner of the first `count` elements of `allocation`. Throws `invalid_argument` if the allocation is smaller.
  Buffer(AllocationPtr allocation, std::size_t count) : allocation_(std::move(allocation)), size_(count) {
    const std::size_t there = allocation_ ? allocation_->size_bytes() : 0;
    if (count > there / sizeof(T)) detail::throw_bad_buffer(count, sizeof(T), there);
  }
  Buffer(Buffer&& other) noexcept : allocation_(std::move(other.allocation_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer moved(std::move(other));
    allocation_.swap(moved.allocation_);
    size_ = moved.size_;
    return *this;
  }
  ~Buffer() = default;

  /// The first element's address. The host may dereference it only if `host_accessible()`.
  T* data() const noexcept { return allocation_ ? static_cast<T*>(allocation_->data()) : nullptr; }
  /// The number of elements.
  std::size_t size() const noexcept { return size_; }
  /// The size of the elements, in bytes.
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  /// Whether there are no elements.
  bool empty() const noexcept { return size_ == 0; }
  /// Whether the host may read and write the memory directly.
  bool host_accessible() const noexcept { return allocation_ && allocation_->host_accessible(); }
  /// The allocation that contains the elements; null for an empty buffer.
  const AllocationPtr& allocation() const noexcept { return allocation_; }

  /// Does not compile, because the elements may be on a device. For pinned and managed memory use `host()[i]`.
  T& operator[](std::size_t) const = delete;  // use host()[i] for pinned or managed memory
  /// All elements, without ownership.
  Span<T> span() const noexcept { return {data(), size_}; }
  /// Elements `[offset, offset + count)`. Throws `invalid_argument` if some are outside.
  Span<T> subspan(std::size_t offset, std::size_t count) const { return span().subspan(offset, count); }
  /// All elements from index `offset` on. Throws `invalid_argument` if `offset` is greater than `size()`.
  Span<T> subspan(std::size_t offset) const { return span().subspan(offset); }
  /// The first `count` elements. Throws `invalid_argument` if there are fewer.
  Span<T> first(std::size_t count) const { return span().first(count); }
  /// The last `count` elements. Throws `invalid_argument` if there are fewer.
  Span<T> last(std::size_t count) const { return span().last(count); }
  /// The elements, for access by the host. Throws `invalid_argument` for device memory.
  std::span<T> host() const {
    if (size_ != 0 && !host_accessible()) detail::throw_not_host_accessible(allocation_.get());
    if (size_ != 0 && detail::tools_watch.load(std::memory_order_relaxed)) [[unlikely]]
      detail::note_host_access(*allocation_, data(), size_bytes());
    return {data(), size_};
  }

  /// Names the allocation for tools. Buffers from `share()` have the same allocation, so the same name. See
  /// `Allocation::set_name`.
  void set_name(std::string_view name) const {
    if (allocation_) allocation_->set_name(name);
  }
  /// Returns another owner of the same memory.
  Buffer share() const { return Buffer(allocation_, size_); }
  /// Releases this buffer's ownership. The buffer is empty afterwards.
  void reset() noexcept {
    allocation_.reset();
    size_ = 0;
  }

 private:
  AllocationPtr allocation_;
  std::size_t size_ = 0;
};

/// Free and total memory of a device in bytes; 0 if unknown.
struct MemoryInfo {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// The options of `Device::create_memory_pool`.
struct MemoryPoolOptions {
  /// The maximum size of the pool in bytes; 0 means no limit. Feature `memory_pool_max_size`.
  std::size_t max_size = 0;
  /// The number of unused bytes that the pool keeps when a stream or event is synchronized. The driver returns the rest to
  /// the system.
  std::size_t release_threshold = 0;
};

/// A pool of stream-ordered memory (cudaMemPool_t). Any thread may use it. Feature `memory_pools`.
class WEIR_API MemoryPool : public RefCounted {
 public:
  /// The device whose memory the pool manages.
  Device& device() const noexcept { return device_; }
  /// The bytes used by allocations now.
  [[nodiscard]] std::size_t used_bytes() const;
  /// The bytes that the pool has reserved from the system now.
  [[nodiscard]] std::size_t reserved_bytes() const;
  /// Returns unused memory to the system until at most `keep` bytes are reserved. (cudaMemPoolTrimTo)
  void trim_to(std::size_t keep);
  /// Sets `MemoryPoolOptions::release_threshold`.
  void set_release_threshold(std::size_t bytes);
  /// The vendor's pool (cudaMemPool_t, hipMemPool_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

 private:
  friend class MemoryPoolImpl;
  MemoryPool(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}

  Device& device_;
  void* handle_;
};

/// A pinned range of the program's own host memory, made by `Device::register_host`. Destroying this object unpins the
/// memory. The caller still owns the memory, which must outlive the registration. Feature `host_registration`.
/// (cudaHostRegister)
class WEIR_API HostRegistration final : public RefCounted {
 public:
  /// The host's address of the memory.
  void* data() const noexcept { return data_; }
  /// The number of pinned bytes.
  std::size_t size_bytes() const noexcept { return size_; }
  /// The device's address of the memory.
  void* device_pointer() const noexcept { return device_pointer_; }

 private:
  friend class Device;
  HostRegistration(Device& device, void* data, std::size_t size, void* device_pointer)
      : device_(device), data_(data), size_(size), device_pointer_(device_pointer) {}
  ~HostRegistration() override;
  Disposal disposal() const noexcept override { return Disposal::driver; }
  Device& device_;
  void* data_;
  std::size_t size_;
  void* device_pointer_;
};

/// A handle that lets another process open an allocation or an event. It consists of plain bytes, which can be sent by
/// any means.
struct InterprocessHandle {
  std::array<std::byte, 64> bytes{};
};

}  // namespace weir
