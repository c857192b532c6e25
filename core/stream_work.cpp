// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "core/stream_call.hpp"
#include "core/tools.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

namespace weir {

using detail::StreamCall;
using detail::StreamCore;
using detail::Watched;

namespace {

bool aligned(const void* address, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

void check_copy(StreamCall call, const void* destination, const void* source, std::size_t bytes) {
  call.check_bytes(bytes);
  if (destination == nullptr || source == nullptr) [[unlikely]] {
    call.refuse(Errc::invalid_argument, destination == nullptr ? "the destination is null" : "the source is null");
  }
}

template <class F>
[[gnu::cold, gnu::noinline]] void copy_watched(Stream& stream, void* destination, std::size_t destination_pitch,
                                               const void* source, std::size_t source_pitch, std::size_t width_bytes,
                                               std::size_t height, const F& copy) {
  Watched(stream, OperationKind::copy, "Stream::copy")
      .touches({source, width_bytes, AccessKind::read, source_pitch, height})
      .touches({destination, width_bytes, AccessKind::write, destination_pitch, height})
      .run(copy);
}

}  // namespace

// --- Copies and fills -------------------------------------------------------------------------------------------------

void Stream::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  const StreamCall call(*this, "Stream::copy");
  if (bytes == 0) return;
  check_copy(call, destination, source, bytes);
  if (is_watched()) [[unlikely]]
    return copy_watched(*this, destination, bytes, source, bytes, bytes, 1,
                        [=, this] { do_copy(destination, source, bytes); });
  do_copy(destination, source, bytes);
}

void Stream::read_bytes(void* destination, const void* source, std::size_t bytes) {
  const StreamCall call(*this, "Stream::read");
  call.check_host_wait();
  if (bytes != 0) {
    check_copy(call, destination, source, bytes);
    if (is_watched()) [[unlikely]]
      copy_watched(*this, destination, bytes, source, bytes, bytes, 1, [=, this] { do_copy(destination, source, bytes); });
    else
      do_copy(destination, source, bytes);
  }
  // No further check: if this threw with the copy under way, the caller would free the memory that is written.
  try {
    StreamCore::wait_on_host(*this);
  } catch (...) {
    if (is_watched()) do_synchronize();  // a tool may have refused the wait
    throw;
  }
}

void Stream::copy_2d(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                     std::size_t width_bytes, std::size_t height) {
  const StreamCall call(*this, "Stream::copy_2d");
  if (width_bytes == 0 || height == 0) return;
  check_copy(call, destination, source, width_bytes);
  call.check_bytes(height, std::max(destination_pitch, source_pitch));
  if (height > 1 && (destination_pitch < width_bytes || source_pitch < width_bytes)) {
    call.refuse(Errc::invalid_argument, "rows of " + std::to_string(width_bytes) + " bytes overlap at pitches of " +
                                            std::to_string(destination_pitch) + " (destination) and " +
                                            std::to_string(source_pitch) + " (source)");
  }
  const auto copy = [=, this] { do_copy_2d(destination, destination_pitch, source, source_pitch, width_bytes, height); };
  if (is_watched()) [[unlikely]]
    return copy_watched(*this, destination, destination_pitch, source, source_pitch, width_bytes, height, copy);
  copy();
}

void Stream::copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                       std::size_t bytes) {
  const StreamCall call(*this, "Stream::copy_peer");
  for (const Device* device : {&destination_device, &source_device}) {
    if (&device->backend() != &device_->backend()) {
      call.refuse(Errc::wrong_device, device->describe() + " is of another backend; copy through host memory");
    }
  }
  if (bytes == 0) return;
  check_copy(call, destination, source, bytes);
  if (is_watched()) [[unlikely]]
    return copy_watched(*this, destination, bytes, source, bytes, bytes, 1,
                        [&] { do_copy_peer(destination, destination_device, source, source_device, bytes); });
  do_copy_peer(destination, destination_device, source, source_device, bytes);
}

namespace {

/// False where there is nothing to fill.
bool check_fill(StreamCall call, void* destination, std::size_t pitch, std::size_t element_size, std::size_t width,
                std::size_t height) {
  if (element_size != 1 && element_size != 2 && element_size != 4) {
    call.refuse(Errc::invalid_argument,
                "elements of " + std::to_string(element_size) + " bytes; fills write elements of 1, 2 or 4 bytes");
  }
  if (width == 0 || height == 0) return false;
  if (destination == nullptr) call.refuse(Errc::invalid_argument, "the destination is null");
  if (!aligned(destination, element_size) || (height > 1 && pitch % element_size != 0)) {
    call.refuse(Errc::invalid_argument,
                "the destination and its pitch must be aligned to the element, " + std::to_string(element_size) + " bytes");
  }
  const std::size_t width_bytes = detail::byte_count(call.operation(), width, element_size);
  call.check_bytes(height, pitch);
  if (height > 1 && pitch < width_bytes) {
    call.refuse(Errc::invalid_argument,
                "rows of " + std::to_string(width_bytes) + " bytes overlap at a pitch of " + std::to_string(pitch));
  }
  return true;
}

template <class F>
[[gnu::cold, gnu::noinline]] void fill_watched(Stream& stream, void* destination, std::size_t width_bytes, std::size_t pitch,
                                               std::size_t height, const F& fill) {
  Watched(stream, OperationKind::fill, "Stream::fill")
      .touches({destination, width_bytes, AccessKind::write, pitch, height})
      .run(fill);
}

}  // namespace

void Stream::fill_elements(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) {
  const StreamCall call(*this, "Stream::fill");
  if (!check_fill(call, destination, 0, element_size, count, 1)) return;
  if (is_watched()) [[unlikely]]
    return fill_watched(*this, destination, element_size * count, 0, 1,
                        [=, this] { do_fill(destination, value, element_size, count); });
  do_fill(destination, value, element_size, count);
}

void Stream::fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                     std::size_t height) {
  const StreamCall call(*this, "Stream::fill_2d");
  if (!check_fill(call, destination, pitch, element_size, width, height)) return;
  const auto fill = [=, this] {
    if (height == 1) {
      do_fill(destination, value, element_size, width);
    } else {
      do_fill_2d(destination, pitch, value, element_size, width, height);
    }
  };
  if (is_watched()) [[unlikely]]
    return fill_watched(*this, destination, element_size * width, pitch, height, fill);
  fill();
}

// --- Memory operations ------------------------------------------------------------------------------------------------

namespace {

/// Whether `has` is true for all features that an operation needs.
template <class Has>
bool has_all_needed(const MemoryOperation& op, Has&& has) {
  switch (op.kind) {
    case MemoryOperation::Kind::write_32: return has(Feature::write_value_32);
    case MemoryOperation::Kind::write_64: return has(Feature::write_value_64);
    case MemoryOperation::Kind::flush_remote_writes: return has(Feature::wait_value_flush);
    case MemoryOperation::Kind::wait_32:
    case MemoryOperation::Kind::wait_64: break;
  }
  return has(op.is_64() ? Feature::wait_value_64 : Feature::wait_value_32) &&
         (op.condition != WaitCondition::geq || has(Feature::wait_value_geq)) &&
         (op.condition != WaitCondition::bit_nor || has(Feature::wait_value_nor)) &&
         (op.remote_writes != RemoteWrites::flush || has(Feature::wait_value_flush));
}

/// Whether an operation is valid and supported. Called for each operation of a batch.
inline bool is_usable(const Device& device, const MemoryOperation& op) noexcept {
  return op.kind <= MemoryOperation::Kind::flush_remote_writes && op.condition <= WaitCondition::bit_nor &&
         op.remote_writes <= RemoteWrites::flush &&
         has_all_needed(op, [&](Feature feature) { return device.supports(feature); }) &&
         (op.kind == MemoryOperation::Kind::flush_remote_writes ||
          (op.address != nullptr && aligned(op.address, op.is_64() ? 8 : 4)));
}

/// Throws why an operation is not usable.
[[noreturn, gnu::cold]] void refuse_operation(StreamCall call, const MemoryOperation& op) {
  call.check_enumerator("MemoryOperation::Kind", op.kind, MemoryOperation::Kind::flush_remote_writes);
  call.check_enumerator("WaitCondition", op.condition, WaitCondition::bit_nor);
  call.check_enumerator("RemoteWrites", op.remote_writes, RemoteWrites::flush);
  (void)has_all_needed(op, [&](Feature feature) {
    call.require(feature);
    return true;
  });
  const char* const misplaced =
      op.is_64() ? "the address is not aligned to the value, 8 bytes" : "the address is not aligned to the value, 4 bytes";
  call.refuse(Errc::invalid_argument, op.address == nullptr ? "the address is null" : misplaced);
}

void check_operation(StreamCall call, const MemoryOperation& op) {
  if (!is_usable(call.device(), op)) [[unlikely]]
    refuse_operation(call, op);
}

CaptureState usable_memory_capture(StreamCall call) {
  const CaptureState capture = call.usable_capture();
  if (capture) call.require(Feature::memory_operations_in_capture);
  return capture;
}

template <class F>
[[gnu::cold, gnu::noinline]] void operations_watched(Stream& stream, const char* name,
                                                     std::span<const MemoryOperation> operations,
                                                     const CaptureState& capture, const F& submit) {
  Watched watched(stream, OperationKind::memory_operations, name, capture);
  watched->memory_operations = operations;
  watched.run(submit);
}

void check_managed(StreamCall call, const Allocation& memory) {
  if (memory.kind() != MemoryKind::managed) {
    call.refuse(Errc::invalid_argument,
                "this is for managed memory, and what was given is " + std::string(to_string(memory.kind())) + " memory");
  }
}

const Allocation& checked(const Stream& stream, const char* operation, const AllocationPtr& allocation) {
  if (!allocation)
    throw Error(Errc::invalid_argument, operation, stream.describe(), "there is no memory: the pointer is null");
  return *allocation;
}

}  // namespace

void Stream::memory_operation(const MemoryOperation& op) {
  const StreamCall call(*this, op.is_wait() ? "Stream::wait_value" : "Stream::write_value");
  check_operation(call, op);
  const CaptureState capture = usable_memory_capture(call);
  if (is_watched()) [[unlikely]]
    return operations_watched(*this, call.operation(), {&op, 1}, capture, [&] { do_memory_operation(op, capture); });
  do_memory_operation(op, capture);
}

void Stream::batch(std::span<const MemoryOperation> operations) {
  const StreamCall call(*this, "Stream::batch");
  call.require(Feature::batch_memory_operations);
  for (const MemoryOperation& op : operations) check_operation(call, op);
  if (operations.empty()) return;
  const CaptureState capture = usable_memory_capture(call);
  if (is_watched()) [[unlikely]]
    return operations_watched(*this, call.operation(), operations, capture, [&] { do_batch(operations, capture); });
  do_batch(operations, capture);
}

void Stream::attach(const AllocationPtr& managed, AttachMode mode) {
  attach(checked(*this, "Stream::attach", managed), mode);
}

void Stream::attach(const Allocation& managed, AttachMode mode) {
  const StreamCall call(*this, "Stream::attach");
  call.require(Feature::managed_attach);
  call.check_enumerator("AttachMode", mode, AttachMode::single);
  check_managed(call, managed);
  call.check_device(managed.device(), "the memory");
  call.refuse_in_capture();
  if (managed.size_bytes() != 0) do_attach(managed, mode);
}

void Stream::prefetch(const AllocationPtr& managed, std::size_t offset, std::size_t bytes, PrefetchTarget target) {
  prefetch(checked(*this, "Stream::prefetch", managed), offset, bytes, target);
}

void Stream::prefetch(const Allocation& managed, std::size_t offset, std::size_t bytes, PrefetchTarget target) {
  const StreamCall call(*this, "Stream::prefetch");
  call.require(Feature::managed_prefetch);
  call.check_enumerator("PrefetchTarget", target, PrefetchTarget::host);
  check_managed(call, managed);
  if (&managed.device().backend() != &device_->backend()) {
    call.refuse(Errc::wrong_device, "the memory is of " + managed.device().describe());
  }
  if (offset > managed.size_bytes() || bytes > managed.size_bytes() - offset) {
    call.refuse(Errc::invalid_argument, std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                                            " are not within an allocation of " + std::to_string(managed.size_bytes()));
  }
  call.refuse_in_capture();
  if (bytes == 0) return;
  const std::byte* const first = static_cast<const std::byte*>(managed.data()) + offset;
  if (is_watched()) [[unlikely]] {
    Watched(*this, OperationKind::prefetch, call.operation()).touches({first, bytes, AccessKind::read}).run([&] {
      do_prefetch(first, bytes, target);
    });
  } else {
    do_prefetch(first, bytes, target);
  }
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

namespace {

bool within(const Dim3& d, const Dim3& max) noexcept {
  return d.x - 1 < max.x && d.y - 1 < max.y && d.z - 1 < max.z;  // unsigned: 0 is out of range, too
}

bool block_fits(const Dim3& block, const DeviceProperties& limits) noexcept {
  return within(block, limits.max_block) &&
         std::uint64_t{block.x} * block.y * block.z <= static_cast<std::uint64_t>(limits.max_threads_per_block);
}

/// Without a call to the library, which would cost more than comparing.
inline bool same(std::span<const std::size_t> a, std::span<const std::size_t> b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Whether a launch is possible. Separate from `refuse_launch`, whose texts need much code, so that launches are fast.
inline bool is_possible(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                        const ArgumentTypes& types) noexcept {
  const DeviceProperties& limits = device.properties();
  const auto& expected = kernel.parameter_sizes();
  return &kernel.device() == &device && block_fits(config.block, limits) && within(config.grid, limits.max_grid) &&
         (config.shared_memory_bytes == 0 || (device.supports(Feature::block_cooperation) &&
                                              config.shared_memory_bytes <= limits.shared_memory_per_block_optin)) &&
         (!config.cooperative || device.supports(Feature::cooperative_launch)) &&
         (!expected || same(types.sizes, *expected)) && kernel.parameter_kinds().contradictions(types.kinds) == 0;
}

/// Dim3 makes one number of all that it cannot hold.
std::string as_written(const Dim3& d) {
  const bool is_exact = std::max({d.x, d.y, d.z}) != UINT32_MAX;
  return to_string(d) + (is_exact ? "" : " (4294967295 stands for a negative number, or for one that is too large)");
}

/// Throws why a launch is not possible.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_launch(StreamCall call, const Kernel& kernel, const LaunchConfig& config,
                                                          const ArgumentTypes& types) {
  const auto refuse = [&](Errc code, const std::string& cause) {
    call.refuse(code, "kernel '" + kernel.name() + "': " + cause);
  };
  const DeviceProperties& limits = call.device().properties();
  if (&kernel.device() != &call.device()) {
    refuse(Errc::wrong_device, "it is loaded on " + kernel.device().describe() + "; load the module on this device");
  }
  if (!block_fits(config.block, limits)) {
    refuse(Errc::invalid_argument, "blocks of " + as_written(config.block) + " threads; the device takes up to " +
                                       to_string(limits.max_block) + " and " + std::to_string(limits.max_threads_per_block) +
                                       " in all");
  }
  if (!within(config.grid, limits.max_grid)) {
    refuse(Errc::invalid_argument,
           "a grid of " + as_written(config.grid) + " blocks; the device takes up to " + to_string(limits.max_grid));
  }
  if (config.shared_memory_bytes != 0) {
    call.require(Feature::block_cooperation);
    if (config.shared_memory_bytes > limits.shared_memory_per_block_optin) {
      refuse(Errc::invalid_argument, std::to_string(config.shared_memory_bytes) +
                                         " bytes of shared memory; a block has at most " +
                                         std::to_string(limits.shared_memory_per_block_optin));
    }
  }
  if (config.cooperative) call.require(Feature::cooperative_launch);
  const std::span<const std::size_t> sizes = types.sizes;
  const auto argument = [&](std::ptrdiff_t i) {  // counted from 1, as people count
    return "argument " + std::to_string(i + 1) + " of " + std::to_string(sizes.size());
  };
  if (const auto& expected = kernel.parameter_sizes(); expected && sizes.size() != expected->size()) {
    refuse(Errc::invalid_argument, "it takes " + std::to_string(expected->size()) + " arguments, and " +
                                       std::to_string(sizes.size()) + " were given");
  } else if (expected) {
    const auto [given, taken] = std::mismatch(sizes.begin(), sizes.end(), expected->begin());
    if (given != sizes.end()) {
      refuse(Errc::invalid_argument, argument(given - sizes.begin()) + " takes " + std::to_string(*taken) +
                                         " bytes, and one of " + std::to_string(*given) +
                                         " was given; pass the parameter's own type");
    }
  }
  const int i = std::countr_zero(kernel.parameter_kinds().contradictions(types.kinds));
  const bool floating = (kernel.parameter_kinds().floating >> i & 1U) != 0;
  call.refuse(Errc::invalid_argument, "kernel '" + kernel.name() + "': " + argument(i) + " is " +
                                          (floating ? "a floating-point number" : "no floating-point number") +
                                          " to the kernel, and " + (floating ? "another value" : "one") +
                                          " was given; pass the parameter's own type");
}

/// Of `launch_raw`, where nothing is known of an argument but its size: one of 8 bytes may be an address.
std::vector<MemoryAccess> raw_accesses(void* const* arguments, const ArgumentTypes& types) {
  std::vector<MemoryAccess> accesses(types.sizes.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (types.sizes[i] == sizeof(void*)) accesses[i] = {*static_cast<void* const*>(arguments[i]), 1};
  }
  return accesses;
}

}  // namespace

void detail::throw_null_kernel(const Stream& stream) {
  throw Error(Errc::invalid_argument, "Stream::launch", stream.describe(), "the kernel is null");
}

void Stream::launch_raw(const Kernel& kernel, const LaunchConfig& config, std::span<void* const> arguments,
                        std::span<const std::size_t> sizes) {
  const StreamCall call(*this, "Stream::launch");
  if (arguments.size() != sizes.size()) {
    call.refuse(Errc::invalid_argument, "kernel '" + kernel.name() + "': " + std::to_string(arguments.size()) +
                                            " addresses of arguments were given, and " + std::to_string(sizes.size()) +
                                            " sizes");
  }
  if (const auto null = std::find(arguments.begin(), arguments.end(), nullptr); null != arguments.end()) {
    call.refuse(Errc::invalid_argument,
                "kernel '" + kernel.name() + "': the address of argument " + std::to_string(null - arguments.begin() + 1) +
                    " of " + std::to_string(arguments.size()) +
                    " is null; give the address of where the argument lies, also for an argument that is a null pointer");
  }
  launch_packed(kernel, config, arguments.data(), {sizes, {}});
}

/// Nothing but what nearly every launch needs, and no call before the last: that is a third of what a launch costs. All
/// other launches go the long way.
void Stream::launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                           const ArgumentTypes& types) {
  if (StreamCore::is_plain(*this) && is_possible(*device_, kernel, config, types)) [[likely]] {
    const CaptureState capture = StreamCore::noted_capture(*this, StreamCore::flags(*this));
    if (!capture || StreamCore::has_just_kept(*this, *kernel.module(), capture)) [[likely]] {
      do_launch(kernel, config, arguments, types, capture);
      return;
    }
  }
  launch_checked(kernel, config, arguments, types);
}

/// Checks a launch.
[[gnu::always_inline]] inline CaptureState Stream::capture_of_launch(const Kernel& kernel, const LaunchConfig& config,
                                                                     const ArgumentTypes& types) {
  const StreamCall call(*this, "Stream::launch");
  if (!is_possible(*device_, kernel, config, types)) [[unlikely]]
    refuse_launch(call, kernel, config, types);
  const CaptureState capture = call.usable_capture();
  if (capture) keep_module(kernel.module(), capture);
  return capture;
}

void Stream::launch_checked(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                            const ArgumentTypes& types) {
  if (is_watched()) [[unlikely]]
    return detail::out_of_line([=, this, &kernel, &config, &types] {
      launch_watched(kernel, config, arguments, types, raw_accesses(arguments, types));
    });
  const CaptureState capture = capture_of_launch(kernel, config, types);
  do_launch(kernel, config, arguments, types, capture);
}

void Stream::launch_watched(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                            const ArgumentTypes& types, std::span<const MemoryAccess> accesses) {
  const CaptureState capture = capture_of_launch(kernel, config, types);
  Watched(*this, OperationKind::kernel, "Stream::launch", capture).kernel(kernel, config, accesses).run([&] {
    do_launch(kernel, config, arguments, types, capture);
  });
}

}  // namespace weir
