// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What can be changed of a stream after it was made. Priority and blocking behaviour cannot.
namespace weir {

/// How a host thread waits in `Stream::synchronize` (cudaSynchronizationPolicy).
enum class SynchronizationPolicy : std::uint8_t {
  automatic,  ///< the driver's choice
  spin,       ///< busy, for the shortest latency
  yield,      ///< busy, giving other threads their turn
  block,      ///< asleep
};

enum class AccessProperty : std::uint8_t { normal, streaming, persisting };

/// A window of memory whose lines an L2 cache should keep or let go (cudaAccessPolicyWindow).
struct AccessPolicyWindow {
  void* base = nullptr;
  std::size_t size_bytes = 0;
  float hit_ratio = 1.0F;  ///< the share of accesses that get `hit`, the others get `miss`
  AccessProperty hit = AccessProperty::persisting;
  AccessProperty miss = AccessProperty::streaming;
};

/// To whom managed memory belongs while no stream is attached to it (cudaMemAttach…).
enum class AttachMode : std::uint8_t {
  global,  ///< any stream on any device
  host,    ///< no device
  single,  ///< this stream alone, and the host while the stream is idle
};

/// Where managed memory is moved ahead of its use (cudaMemPrefetchAsync).
enum class PrefetchTarget : std::uint8_t {
  device,  ///< to the stream's device
  host,    ///< to the host
};

}  // namespace weir
