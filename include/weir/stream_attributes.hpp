// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Attributes of a stream that can be changed. Priority and blocking behaviour cannot.
namespace weir {

/// How a host thread waits in `Stream::synchronize` (cudaSynchronizationPolicy).
enum class SynchronizationPolicy : std::uint8_t {
  automatic,  ///< the driver's choice
  spin,       ///< spins, for the lowest latency
  yield,      ///< spins, but yields to other threads
  block,      ///< sleeps
};

/// How the L2 cache treats a line.
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
  single,  ///< only this stream, and the host while the stream is idle
};

/// The target of a prefetch of managed memory (cudaMemPrefetchAsync).
enum class PrefetchTarget : std::uint8_t {
  device,  ///< to the stream's device
  host,    ///< to the host
};

}  // namespace weir
