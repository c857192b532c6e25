// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cudart/include/cuda_runtime_api.h"
#include "weir/weir.hpp"

/// The state behind the calls of CUDA's runtime. The calls use only Weir's public interface. All state is leaked, because
/// the destructors of a program's static objects may still call the runtime.
namespace weir::cudart {

// --- Errors ---------------------------------------------------------------------------------------------------------

/// The error of a call's own checks.
struct Failure {
  cudaError_t error;
};

inline void check(bool good, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!good) [[unlikely]]
    throw Failure{otherwise};
}

/// Assigns a call's result. Fails with cudaErrorInvalidValue without a place for it.
template <class T>
void give(T* to, const std::type_identity_t<T>& value) {
  check(to != nullptr);
  *to = value;
}

struct CallConfiguration {
  dim3 grid, block;
  std::size_t shared_bytes;
  void* stream;
};

/// The state of a thread, without a destructor: other destructors at the thread's end may still call the runtime.
struct Thread {
  int device = -1;  // -1 before the first call that needs one
  cudaError_t last_error = cudaSuccess;
  bool has_per_thread_default = false;  // in a call from a file that was compiled for per-thread default streams
  bool capture_failed = false;  // a call has invalidated the captures that the thread began
  std::uint32_t pushed = 0;
  // The argument of a launch may launch, so configurations nest.
  std::array<CallConfiguration, 16> configurations{};
};
Thread& this_thread() noexcept;

/// Returns the number of the exception that is being handled, and makes it the thread's last error.
cudaError_t failed(const char* name) noexcept;
/// Makes an error the thread's last error.
cudaError_t ended(cudaError_t error) noexcept;

/// Calls `body` and returns CUDA's number for its exception.
template <class F>
cudaError_t call(const char* name, F&& body) noexcept {
  try {
    body();
    return cudaSuccess;
  } catch (...) {
    return failed(name);
  }
}

/// What each call does, without the number of its error.
namespace calls {
#define WEIR_CUDA_CALL(result, name, parameters, arguments, text) void name parameters;
#define WEIR_CUDA_PLAIN_CALL(result, name, parameters, text)
#include "cudart/include/weir_cuda_calls.def"
}  // namespace calls

// --- Handles --------------------------------------------------------------------------------------------------------

/// The objects of CUDA's handles of one type. A handle consists of the number of a slot and the number of the slot's use,
/// and is no address. So a destroyed or foreign handle is detected without a lock; such a handle is the error `Unknown`.
/// Slots are never freed.
template <class T, std::uint32_t Tag, cudaError_t Unknown = cudaErrorInvalidResourceHandle>
class Handles {
 public:
  void* add(T object) {
    const std::lock_guard lock(mutex_);
    if (!free_.has_value()) grow();
    const std::uint32_t index = *free_;
    Slot& slot = *at(index);
    free_ = slot.next;
    slot.object.emplace(std::move(object));
    const std::uint32_t use = slot.use.load(std::memory_order_relaxed) + 1;
    slot.use.store(use, std::memory_order_release);
    return reinterpret_cast<void*>(std::uintptr_t{use} << 32U | (index + 1) << 4U | Tag);
  }
  /// The object, or null.
  T* find(const void* handle) noexcept {
    Slot* const slot = slot_of(handle);
    return slot != nullptr ? &*slot->object : nullptr;
  }
  T& get(const void* handle) {
    T* const object = find(handle);
    check(object != nullptr, Unknown);
    return *object;
  }
  T take(const void* handle) {
    const std::lock_guard lock(mutex_);
    Slot* const slot = slot_of(handle);
    check(slot != nullptr, Unknown);
    slot->use.fetch_add(1, std::memory_order_relaxed);
    T object = std::move(*slot->object);
    slot->object.reset();
    slot->next = std::exchange(free_, index_of(handle));
    return object;
  }
  /// Copies of all objects.
  std::vector<T> all() {
    const std::lock_guard lock(mutex_);
    std::vector<T> objects;
    for (std::uint32_t i = 0; i < first_block * ((1U << count_) - 1); ++i) {
      if (at(i)->object) objects.push_back(*at(i)->object);
    }
    return objects;
  }

 private:
  struct Slot {
    std::atomic<std::uint32_t> use{0};  // odd while there is an object
    std::optional<T> object;
    std::optional<std::uint32_t> next;  // the next free slot
  };
  static constexpr std::uint32_t first_block = 64;

  static std::uint32_t index_of(const void* handle) noexcept {
    return (static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle)) >> 4U) - 1;
  }
  // Block b has 64·2^b slots.
  Slot* at(std::uint32_t index) const noexcept {
    const std::uint32_t scaled = index / first_block + 1;
    const auto block = static_cast<std::uint32_t>(31 - __builtin_clz(scaled));
    Slot* const slots = blocks_[block].load(std::memory_order_acquire);
    return slots != nullptr ? slots + (index - first_block * ((1U << block) - 1)) : nullptr;
  }
  Slot* slot_of(const void* handle) const noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(handle);
    if ((bits & 15U) != Tag || (bits & 0xFFFFFFF0U) == 0 || (bits >> 32U) % 2 == 0) return nullptr;
    const std::uint32_t index = index_of(handle);
    if (index / first_block >= (1U << blocks_.size()) - 1) return nullptr;
    Slot* const slot = at(index);
    return slot != nullptr && slot->use.load(std::memory_order_acquire) == bits >> 32U ? slot : nullptr;
  }
  void grow() {
    check(count_ < blocks_.size(), cudaErrorMemoryAllocation);
    const std::uint32_t size = first_block << count_;
    const std::uint32_t first = first_block * ((1U << count_) - 1);
    auto* const slots = new Slot[size];
    for (std::uint32_t i = 0; i + 1 < size; ++i) slots[i].next = first + i + 1;
    blocks_[count_++].store(slots, std::memory_order_release);
    free_ = first;
  }

  std::mutex mutex_;
  std::optional<std::uint32_t> free_;
  std::uint32_t count_ = 0;
  std::array<std::atomic<Slot*>, 21> blocks_{};
};

// --- Devices --------------------------------------------------------------------------------------------------------

struct Pool {
  MemoryPoolPtr pool;
  bool is_default = false;
  std::size_t threshold = 0;  // of release
};

struct DeviceState {
  Device* device = nullptr;
  StreamPtr legacy;
  cudaDeviceProp properties{};
  std::array<std::size_t, 7> limits{};
  unsigned int flags = 0;
  cudaFuncCache cache_config = cudaFuncCachePreferNone;
  cudaSharedMemConfig shared_config = cudaSharedMemBankSizeDefault;
  std::atomic<cudaError_t> fault{cudaSuccess};  // the first error of work that failed
  std::mutex mutex;                             // guards the members below
  std::set<int> peers;
  cudaMemPool_t default_pool = nullptr;
  std::vector<StreamPtr> destroyed;  // streams of the program whose work may not be done
};

struct Runtime {
  Backend* backend = nullptr;
  int first_device = 0;
  bool is_host = false;
  std::deque<DeviceState> devices;
  Handles<StreamPtr, 4> streams;
  Handles<EventPtr, 5> events;
  Handles<Pool, 6, cudaErrorInvalidValue> pools;
};

/// The devices and handles of the process. Opens the backend at the first call.
Runtime& runtime();
/// A device by its ordinal. Fails with cudaErrorInvalidDevice.
DeviceState& device_at(int ordinal);
/// The calling thread's device.
DeviceState& current();
/// The calling thread's device, for calls that fail after its work has failed: they fail with that error.
DeviceState& usable();
/// On the CPU, only the stream of failed work knows its error. Asks all of a device's streams, as calls that wait for the
/// device do, and fails with the error.
void collect_faults(DeviceState& device);
/// The stream of a handle: a default stream of the calling thread's device, or a program's own. Fails with
/// cudaErrorInvalidResourceHandle.
StreamPtr stream_of(cudaStream_t handle);

// --- Memory ---------------------------------------------------------------------------------------------------------

enum class BlockKind : std::uint8_t { device, pinned, managed, registered, symbol, opened };

/// Memory that the calls allocated, registered or found.
struct Block {
  std::size_t bytes = 0;
  BlockKind kind{};
  Device* device = nullptr;
  unsigned int flags = 0;
  AllocationPtr allocation;
  Ptr<HostRegistration> registration;
};

/// What a copy must know about memory.
struct Range {
  std::uintptr_t begin;
  std::size_t bytes;
  BlockKind kind;
};

class Memory {
 public:
  void add(void* address, Block block);
  struct Found {
    std::size_t offset;  // of the address in its block
    Block block;
  };
  /// The block that contains the address.
  std::optional<Found> find(const void* address);
  std::optional<Range> range_of(const void* address);
  /// Removes the block that begins at the address, if it satisfies `condition`.
  template <class F>
  std::optional<Block> take(const void* address, F&& condition) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == blocks_.end() || !condition(found->second)) return std::nullopt;
    std::optional<Block> block(std::move(found->second));
    blocks_.erase(found);
    return block;
  }
  /// Removes all blocks of a device.
  void clear(const Device& device);
  bool overlaps(const void* address, std::size_t bytes);

 private:
  using Blocks = std::map<std::uintptr_t, Block>;
  Blocks::iterator at(std::uintptr_t address);

  std::shared_mutex mutex_;
  Blocks blocks_;
};
Memory& memory();

/// Which memory one side of a copy may be.
enum class Side : std::uint8_t { any, host, device };
/// Fails with cudaErrorInvalidValue if the bytes go beyond the block that they begin in, or if they are on the other side.
void check_range(const void* address, std::size_t bytes, Side side);
/// Fails with cudaErrorInvalidMemcpyDirection for a number that is not a kind.
void check_kind(cudaMemcpyKind kind);

/// A copy of a box.
struct BoxCopy {
  PitchedSpan<std::byte> to;
  PitchedSpan<const std::byte> from;
};
BoxCopy box_copy(cudaMemcpy3DParms copy);
/// Copies and fills of a node, whose parameters were checked before.
void enqueue(Stream& stream, const BoxCopy& copy);
void enqueue(Stream& stream, const cudaMemsetParams& fill);
void check_fill(const cudaMemsetParams& fill);

// --- Kernels --------------------------------------------------------------------------------------------------------

struct LoadedKernel {
  KernelPtr kernel;
  KernelProperties properties;
  std::size_t most_shared = 0;  // the limit of dynamic shared memory that cudaFuncSetAttribute has set, or 0
  bool knows_occupancy = false;  // the program has asked how many blocks run at a time
  int carveout = cudaSharedmemCarveoutDefault;
};

/// The kernel of a stub on a device, which is loaded at the first use. Fails with cudaErrorInvalidDeviceFunction.
std::shared_ptr<LoadedKernel> kernel_of(const void* stub, DeviceState& device);
/// Checks the shape of a launch as CUDA does.
LaunchConfig launch_config(const LoadedKernel& kernel, const DeviceState& device, dim3 grid, dim3 block,
                           std::size_t shared_bytes);
/// The memory of a variable on the calling thread's device. Fails with cudaErrorInvalidSymbol.
Span<std::byte> symbol(const void* variable);
/// A source that compiled without an error.
struct Source {
  std::string text;
  CompileOptions options;
};
/// Returns a text that stands for the source when a library is loaded. It stays, as long as there may be such a text.
std::string add_source(Source source);
/// Unloads all modules of a device.
void unload(const Device& device);

}  // namespace weir::cudart
