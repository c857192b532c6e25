// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"

/// Partitions: parts of a device, whose streams run only on some of its compute units.
namespace weir {

/// The requested properties of a partition.
struct PartitionOptions {
  std::uint32_t compute_units = 0;  ///< multiprocessors, compute units, or the CPU's workers; 1 or more
};

/// A part of a device's compute units; on CUDA a green context. Kernels of its streams run only on these units. This
/// reserves units for latency-critical work, or limits small work to a few. Partitions of a device share no units. Other
/// streams of the device, including default streams, run on all units: to keep them away, give them a partition as well.
///
/// Everything else belongs to the device: memory, pools, modules, events. Streams of a partition can wait for events of
/// other streams, and vice versa; copies usually do not use compute units; `Device::synchronize` waits for all. A captured
/// kernel runs in the partition of the stream that captured it, wherever the graph is launched, so keep the partition, like
/// memory, as long as the graph is launched. Bodies of conditional nodes run on all units. The units become free when the
/// partition and its streams have no owner. Any thread.
class WEIR_API Partition : public RefCounted {
 public:
  /// The partition's device.
  Device& device() const noexcept { return device_; }
  /// The number of units: at least as many as requested. Drivers assign them in groups, of 8 on an H200.
  std::uint32_t compute_units() const noexcept { return compute_units_; }
  /// The vendor's object (CUgreenCtx), or null on the other backends. This object still owns it.
  void* native_handle() const noexcept { return handle_; }
  /// Creates a stream whose kernels run on these units. Throws like `Device::create_stream`, and `invalid_argument` for a
  /// blocking stream, which drivers do not support here. (cuGreenCtxStreamCreate)
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
