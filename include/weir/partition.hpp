// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"

/// Partitions: a partition is a part of a device's compute units, with streams that run only on these units.
namespace weir {

/// The requested properties of a partition.
struct PartitionOptions {
  std::uint32_t compute_units = 0;  ///< the number of multiprocessors (CUDA), compute units (HIP) or worker threads (CPU);
                                    ///< at least 1
};

/// A part of a device's compute units (CUgreenCtx). Kernels on its streams run only on these units. Use it to reserve units
/// for latency-critical work, or to limit other work to few units. Two partitions of a device share no units. Streams that
/// belong to no partition, including default streams, run on all units. To keep their work away from a partition's units,
/// create these streams in another partition.
///
/// Memory, pools, modules and events belong to the device and can be used with all its streams. Streams of a partition can
/// wait for events of other streams, and vice versa. `Device::synchronize` waits for all streams. Copies usually use no
/// compute units.
///
/// A captured kernel runs in the partition of the stream that captured it, even if the graph is launched on another stream,
/// so the partition must live as long as the graph is launched. Bodies of conditional nodes run on all units. The units
/// become free when the partition and its streams have been destroyed. Any thread.
class WEIR_API Partition : public RefCounted {
 public:
  /// The partition's device.
  Device& device() const noexcept { return device_; }
  /// The number of units. It may be greater than requested, because drivers assign units in groups (of 8 on an H200).
  std::uint32_t compute_units() const noexcept { return compute_units_; }
  /// The vendor's context of the partition (CUgreenCtx); null on other backends. This object still owns it.
  void* native_handle() const noexcept { return handle_; }
  /// Creates a stream whose kernels run on these units. Throws like `Device::create_stream`; `invalid_argument` for a
  /// blocking stream, because drivers support only non-blocking streams in partitions. (cuGreenCtxStreamCreate)
  StreamPtr create_stream(const StreamOptions& options = {});
  /// Describes the partition: "cuda:0 partition of 16 compute units".
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
