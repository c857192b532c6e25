// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"

/// Partitions: parts of a device, whose streams run on some of its compute units alone.
namespace weir {

/// What a partition is to have.
struct PartitionOptions {
  std::uint32_t compute_units = 0;  ///< multiprocessors, compute units, or the CPU's workers; 1 or more
};

/// A part of a device's compute units; on CUDA a green context. Kernels of its streams run on these units alone, so that
/// latency-critical work finds some free, or small work leaves the rest alone. Partitions of a device share no unit. Other
/// streams of the device, default ones included, run on all units: give them a partition, too, to keep them away.
///
/// All else is the device's: memory, pools, modules, events. Streams of a partition wait for events of other streams, and
/// the other way round; copies do not use compute units, as a rule; `Device::synchronize` waits for all. A captured kernel
/// runs in the partition of the stream that captured it, wherever the graph is launched: keep the partition as long as the
/// graph is launched, as you keep memory. Bodies of conditional nodes run on all units. The units are free again when the
/// partition and its streams have no owner. Any thread.
class WEIR_API Partition : public RefCounted {
 public:
  /// The device that it is a part of.
  Device& device() const noexcept { return device_; }
  /// How many units it has: at least as many as were asked for. Drivers have them in groups, of 8 on an H200.
  std::uint32_t compute_units() const noexcept { return compute_units_; }
  /// The vendor's object (CUgreenCtx); null where there is none. This object still owns it.
  void* native_handle() const noexcept { return handle_; }
  /// Creates a stream whose kernels run on these units. Throws as `Device::create_stream`, and `invalid_argument` for a
  /// blocking one, which drivers do not have here. (cuGreenCtxStreamCreate)
  StreamPtr create_stream(const StreamOptions& options = {});
  /// "cuda:0 partition of 16 compute units"
  [[nodiscard]] std::string describe() const;

 private:
  friend class PartitionImpl;
  Partition(Device& device, void* handle, std::uint32_t compute_units) noexcept
      : device_(device), handle_(handle), compute_units_(compute_units) {}

  Device& device_;
  void* handle_;
  std::uint32_t compute_units_;
};

}  // namespace weir
