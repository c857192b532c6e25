// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Types for the attributes of a stream that can be changed after its creation, and for managed memory.
namespace weir {

/// How a host thread waits in `Stream::synchronize` (cudaSynchronizationPolicy).
enum class SynchronizationPolicy : std::uint8_t {
  automatic,  ///< the driver's choice
  spin,       ///< polls in a loop without a pause, for the lowest latency
  yield,      ///< polls in a loop, and yields to other threads in between
  block,      ///< sleeps
};

/// How the L2 cache treats a line (cudaAccessProperty).
enum class AccessProperty : std::uint8_t { normal, streaming, persisting };

/// A window of memory and how the L2 cache should treat it (cudaAccessPolicyWindow).
struct AccessPolicyWindow {
  void* base = nullptr;
  std::size_t size_bytes = 0;
  float hit_ratio = 1.0F;  ///< the share of accesses that get `hit`; the others get `miss`
  AccessProperty hit = AccessProperty::persisting;
  AccessProperty miss = AccessProperty::streaming;
};

/// Which streams may access managed memory (cudaMemAttach…).
enum class AttachMode : std::uint8_t {
  global,  ///< any stream on any device
  host,    ///< no device
  single,  ///< only this stream, and the host while this stream is idle
};

/// The target of a prefetch of managed memory (cudaMemPrefetchAsync).
enum class PrefetchTarget : std::uint8_t {
  device,  ///< to the stream's device
  host,    ///< to the host
};

}  // namespace weir
