// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "core/captures.hpp"
#include "core/enumerator.hpp"
#include "core/thread_state.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

namespace weir {
namespace {

bool aligned(const void* address, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

/// Throws `invalid_argument` for more bytes than there can be. A count that the caller gives in bytes is none of a product,
/// and may be wrong all the same.
void check_bytes(const char* operation, std::size_t bytes) { (void)detail::byte_count(operation, bytes, 1); }

}  // namespace

// --- Copies and fills -------------------------------------------------------------------------------------------------

void Stream::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  enter("Stream::copy");
  if (bytes == 0) return;
  check_copy("Stream::copy", destination, source, bytes);
  do_copy(destination, source, bytes);
}

void Stream::read_bytes(void* destination, const void* source, std::size_t bytes) {
  const char* const operation = "Stream::read";
  enter(operation);
  check_host_wait(operation);
  if (bytes != 0) {
    check_copy(operation, destination, source, bytes);
    do_copy(destination, source, bytes);
  }
  synchronize();
}

void Stream::check_copy(const char* operation, const void* destination, const void* source, std::size_t bytes) const {
  check_bytes(operation, bytes);
  if (destination == nullptr || source == nullptr) [[unlikely]] {
    throw Error(Errc::invalid_argument, operation, describe(),
                std::string("the ") + (destination == nullptr ? "destination" : "source") + " is null");
  }
}

void Stream::copy_2d(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                     std::size_t width_bytes, std::size_t height) {
  const char* const operation = "Stream::copy_2d";
  enter(operation);
  if (width_bytes == 0 || height == 0) return;
  check_copy(operation, destination, source, width_bytes);
  (void)detail::byte_count(operation, height, std::max(destination_pitch, source_pitch));
  if (height > 1 && (destination_pitch < width_bytes || source_pitch < width_bytes)) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "rows of " + std::to_string(width_bytes) + " bytes overlap at pitches of " + std::to_string(destination_pitch) +
                    " (destination) and " + std::to_string(source_pitch) + " (source)");
  }
  do_copy_2d(destination, destination_pitch, source, source_pitch, width_bytes, height);
}

void Stream::copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                       std::size_t bytes) {
  const char* const operation = "Stream::copy_peer";
  enter(operation);
  for (const Device* device : {&destination_device, &source_device}) {
    if (&device->backend() != &device_->backend()) {
      throw Error(Errc::wrong_device, operation, describe(),
                  device->describe() + " is of another backend; copy through host memory");
    }
  }
  if (bytes == 0) return;
  check_copy(operation, destination, source, bytes);
  do_copy_peer(destination, destination_device, source, source_device, bytes);
}

void Stream::fill_elements(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) {
  fill_2d_checked("Stream::fill", destination, 0, value, element_size, count, 1);
}

void Stream::fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                     std::size_t height) {
  fill_2d_checked("Stream::fill_2d", destination, pitch, value, element_size, width, height);
}

void Stream::fill_2d_checked(const char* operation, void* destination, std::size_t pitch, std::uint32_t value,
                             std::size_t element_size, std::size_t width, std::size_t height) {
  enter(operation);
  if (element_size != 1 && element_size != 2 && element_size != 4) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "elements of " + std::to_string(element_size) + " bytes; fills write elements of 1, 2 or 4 bytes");
  }
  if (width == 0 || height == 0) return;
  if (destination == nullptr) throw Error(Errc::invalid_argument, operation, describe(), "the destination is null");
  if (!aligned(destination, element_size) || (height > 1 && pitch % element_size != 0)) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "the destination and its pitch must be aligned to the element, " + std::to_string(element_size) + " bytes");
  }
  const std::size_t width_bytes = detail::byte_count(operation, width, element_size);
  (void)detail::byte_count(operation, height, pitch);
  if (height > 1 && pitch < width_bytes) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "rows of " + std::to_string(width_bytes) + " bytes overlap at a pitch of " + std::to_string(pitch));
  }
  if (height == 1) {
    do_fill(destination, value, element_size, width);
  } else {
    do_fill_2d(destination, pitch, value, element_size, width, height);
  }
}

// --- Memory operations ------------------------------------------------------------------------------------------------

namespace {

/// Asks `has` for the features that an operation needs, one by one, while it says yes.
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

/// Whether nothing is wrong with an operation. A batch asks this of each of its operations.
inline bool is_usable(const Device& device, const MemoryOperation& op) noexcept {
  return op.kind <= MemoryOperation::Kind::flush_remote_writes && op.condition <= WaitCondition::bit_nor &&
         op.remote_writes <= RemoteWrites::flush && has_all_needed(op, [&](Feature feature) { return device.supports(feature); }) &&
         (op.kind == MemoryOperation::Kind::flush_remote_writes ||
          (op.address != nullptr && aligned(op.address, op.is_64() ? 8 : 4)));
}

}  // namespace

/// Throws what is wrong with an operation that is not usable.
void Stream::refuse_memory_operation(const char* operation, const MemoryOperation& op) const {
  detail::check_enumerator(operation, *this, "MemoryOperation::Kind", op.kind, MemoryOperation::Kind::flush_remote_writes);
  detail::check_enumerator(operation, *this, "WaitCondition", op.condition, WaitCondition::bit_nor);
  detail::check_enumerator(operation, *this, "RemoteWrites", op.remote_writes, RemoteWrites::flush);
  (void)has_all_needed(op, [&](Feature feature) {
    require(operation, feature);
    return true;
  });
  const char* const misplaced =
      op.is_64() ? "the address is not aligned to the value, 8 bytes" : "the address is not aligned to the value, 4 bytes";
  throw Error(Errc::invalid_argument, operation, describe(), op.address == nullptr ? "the address is null" : misplaced);
}

void Stream::memory_operation(const MemoryOperation& op) {
  const char* const operation = op.is_wait() ? "Stream::wait_value" : "Stream::write_value";
  enter(operation);
  if (!is_usable(*device_, op)) [[unlikely]] refuse_memory_operation(operation, op);
  do_memory_operation(op, usable_memory_capture(operation));
}

void Stream::batch(std::span<const MemoryOperation> operations) {
  const char* const operation = "Stream::batch";
  enter(operation);
  require(operation, Feature::batch_memory_operations);
  for (const MemoryOperation& op : operations) {
    if (!is_usable(*device_, op)) [[unlikely]] refuse_memory_operation(operation, op);
  }
  if (operations.empty()) return;
  do_batch(operations, usable_memory_capture(operation));
}

const Allocation& Stream::checked(const AllocationPtr& allocation) const {
  if (!allocation) throw Error(Errc::invalid_argument, "Stream", describe(), "the buffer has no memory");
  return *allocation;
}

void Stream::check_managed(const char* operation, const Allocation& memory) const {
  if (memory.kind() != MemoryKind::managed) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "this is for managed memory, and what was given is " + std::string(to_string(memory.kind())) + " memory");
  }
}

void Stream::attach(const Allocation& managed, AttachMode mode) {
  const char* const operation = "Stream::attach";
  enter(operation);
  require(operation, Feature::managed_attach);
  detail::check_enumerator(operation, *this, "AttachMode", mode, AttachMode::single);
  check_managed(operation, managed);
  if (&managed.device() != device_) {
    throw Error(Errc::wrong_device, operation, describe(), "the memory is of " + managed.device().describe());
  }
  refuse_in_capture(operation);
  if (managed.size_bytes() != 0) do_attach(managed, mode);
}

void Stream::prefetch(const Allocation& managed, std::size_t offset, std::size_t bytes, PrefetchTarget target) {
  const char* const operation = "Stream::prefetch";
  enter(operation);
  require(operation, Feature::managed_prefetch);
  detail::check_enumerator(operation, *this, "PrefetchTarget", target, PrefetchTarget::host);
  check_managed(operation, managed);
  if (&managed.device().backend() != &device_->backend()) {
    throw Error(Errc::wrong_device, operation, describe(), "the memory is of " + managed.device().describe());
  }
  if (offset > managed.size_bytes() || bytes > managed.size_bytes() - offset) {
    throw Error(Errc::invalid_argument, operation, describe(),
                std::to_string(bytes) + " bytes from byte " + std::to_string(offset) + " are not within an allocation of " +
                    std::to_string(managed.size_bytes()));
  }
  refuse_in_capture(operation);
  if (bytes != 0) do_prefetch(static_cast<const std::byte*>(managed.data()) + offset, bytes, target);
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

const Kernel& Stream::checked(const KernelPtr& kernel) const {
  if (!kernel) throw Error(Errc::invalid_argument, "Stream::launch", describe(), "the kernel is null");
  return *kernel;
}

namespace detail {

/// What is wrong with a launch. Looking is kept apart from telling, which takes much code, for the sake of each launch's time.
enum class LaunchFault : std::uint8_t {
  none,
  wrong_device,
  block,
  grid,
  no_shared_memory,
  shared_memory,
  not_cooperative,
  sizes_count,
  null_argument,
  argument_count,
  argument_size,
  argument_kind,
};

}  // namespace detail

using detail::LaunchFault;

namespace {

bool within(const Dim3& d, const Dim3& max) noexcept {
  return d.x - 1 < max.x && d.y - 1 < max.y && d.z - 1 < max.z;  // unsigned: 0 is out of range, too
}

inline LaunchFault find_fault(const Device& device, const Kernel& kernel, const LaunchConfig& config,
                              std::span<const std::size_t> sizes, const detail::NumberKinds& kinds) noexcept {
  if (&kernel.device() != &device) return LaunchFault::wrong_device;
  const DeviceProperties& limits = device.properties();
  const std::uint64_t threads = std::uint64_t{config.block.x} * config.block.y * config.block.z;
  if (!within(config.block, limits.max_block) || threads > static_cast<std::uint64_t>(limits.max_threads_per_block)) {
    return LaunchFault::block;
  }
  if (!within(config.grid, limits.max_grid)) return LaunchFault::grid;
  if (config.shared_memory_bytes != 0) {
    if (!device.supports(Feature::block_cooperation)) return LaunchFault::no_shared_memory;
    if (config.shared_memory_bytes > limits.shared_memory_per_block_optin) return LaunchFault::shared_memory;
  }
  if (config.cooperative && !device.supports(Feature::cooperative_launch)) return LaunchFault::not_cooperative;
  if (const auto& expected = kernel.parameter_sizes()) {
    if (expected->size() != sizes.size()) return LaunchFault::argument_count;
    if (!std::equal(sizes.begin(), sizes.end(), expected->begin())) return LaunchFault::argument_size;
  }
  if (kernel.parameter_kinds().contradictions(kinds) != 0) return LaunchFault::argument_kind;
  return LaunchFault::none;
}

}  // namespace

void Stream::refuse_launch(LaunchFault fault, const Kernel& kernel, const LaunchConfig& config,
                           std::span<void* const> arguments, std::span<const std::size_t> sizes,
                           const detail::NumberKinds& kinds) const {
  const char* const operation = "Stream::launch";
  const DeviceProperties& limits = device_->properties();
  Errc code = Errc::invalid_argument;
  std::string cause;
  switch (fault) {
    case LaunchFault::none: break;
    case LaunchFault::wrong_device:
      code = Errc::wrong_device;
      cause = "it is loaded on " + kernel.device().describe() + "; load the module on this device";
      break;
    case LaunchFault::block:
      cause = "blocks of " + to_string(config.block) + " threads; the device takes up to " + to_string(limits.max_block) +
              " and " + std::to_string(limits.max_threads_per_block) + " in all";
      break;
    case LaunchFault::grid:
      cause = "a grid of " + to_string(config.grid) + " blocks; the device takes up to " + to_string(limits.max_grid);
      break;
    case LaunchFault::no_shared_memory: require(operation, Feature::block_cooperation); break;
    case LaunchFault::shared_memory:
      cause = std::to_string(config.shared_memory_bytes) + " bytes of shared memory; a block has at most " +
              std::to_string(limits.shared_memory_per_block_optin);
      break;
    case LaunchFault::not_cooperative: require(operation, Feature::cooperative_launch); break;
    case LaunchFault::sizes_count:
      cause = std::to_string(arguments.size()) + " addresses of arguments were given, and " + std::to_string(sizes.size()) +
              " sizes";
      break;
    case LaunchFault::null_argument:
      cause = "the address of argument " +
              std::to_string(std::find(arguments.begin(), arguments.end(), nullptr) - arguments.begin()) +
              " is null; give the address of where the argument lies, also for an argument that is a null pointer";
      break;
    case LaunchFault::argument_count:
      cause = "it takes " + std::to_string(kernel.parameter_sizes()->size()) + " arguments, and " +
              std::to_string(sizes.size()) + " were given";
      break;
    case LaunchFault::argument_size: {
      const auto [given, taken] = std::mismatch(sizes.begin(), sizes.end(), kernel.parameter_sizes()->begin());
      cause = "argument " + std::to_string(given - sizes.begin()) + " takes " + std::to_string(*taken) +
              " bytes, and one of " + std::to_string(*given) + " was given; pass the parameter's own type";
      break;
    }
    case LaunchFault::argument_kind: {
      const int i = std::countr_zero(kernel.parameter_kinds().contradictions(kinds));
      const bool floating = (kernel.parameter_kinds().floating >> i & 1U) != 0;
      cause = "argument " + std::to_string(i) + " is " + (floating ? "a floating-point number" : "no floating-point number") +
              " to the kernel, and " + (floating ? "another value" : "one") + " was given; pass the parameter's own type";
      break;
    }
  }
  throw Error(code, operation, describe(), "kernel '" + kernel.name() + "': " + cause);
}

void Stream::launch_raw(const Kernel& kernel, const LaunchConfig& config, std::span<void* const> arguments,
                        std::span<const std::size_t> sizes) {
  enter("Stream::launch");
  if (arguments.size() != sizes.size()) refuse_launch(LaunchFault::sizes_count, kernel, config, arguments, sizes, {});
  if (std::find(arguments.begin(), arguments.end(), nullptr) != arguments.end()) {
    refuse_launch(LaunchFault::null_argument, kernel, config, arguments, sizes, {});
  }
  launch_checked(kernel, config, arguments, sizes, {});
}

/// Launches with arguments that are all there.
void Stream::launch_checked(const Kernel& kernel, const LaunchConfig& config, std::span<void* const> arguments,
                            std::span<const std::size_t> sizes, const detail::NumberKinds& kinds) {
  const char* const operation = "Stream::launch";
  enter(operation);
  const LaunchFault fault = find_fault(*device_, kernel, config, sizes, kinds);
  if (fault != LaunchFault::none) [[unlikely]] refuse_launch(fault, kernel, config, arguments, sizes, kinds);
  const CaptureState capture = usable_capture(operation);
  if (capture) [[unlikely]] keep_module(kernel.module(), capture);
  do_launch(kernel, config, arguments, sizes, capture);
}

}  // namespace weir
