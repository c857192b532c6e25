// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"

/// A pool of streams, for code that needs a stream for a short time. Creating streams is slow, and some drivers support only
/// few.
namespace weir {

/// Whether several leases may share a stream.
enum class PoolSharing : std::uint8_t {
  exclusive,    ///< a stream has at most one lease at a time
  round_robin,  ///< leases use `max_streams` streams in turn; several leases may share a stream
};

/// The options of a pool.
struct StreamPoolOptions {
  std::size_t max_streams = 32;  ///< at least 1
  PoolSharing sharing = PoolSharing::exclusive;
  StreamOptions stream = {};
};

namespace detail {
class StreamPoolState;
}

/// A leased stream. The stream returns to the pool when this object is destroyed. Movable.
class WEIR_API StreamLease {
 public:
  StreamLease(StreamLease&& other) noexcept;
  StreamLease& operator=(StreamLease&& other) noexcept;
  ~StreamLease();

  Stream& operator*() const noexcept { return *stream_; }
  Stream* operator->() const noexcept { return stream_.get(); }
  /// An owner of the stream. The lease ends when this `StreamLease` is destroyed, even if the stream has other owners.
  const StreamPtr& stream() const noexcept { return stream_; }
  operator StreamRef() const noexcept { return stream_; }

 private:
  friend class StreamPool;
  StreamLease(Ptr<detail::StreamPoolState> pool, std::size_t slot, StreamPtr stream) noexcept;

  Ptr<detail::StreamPoolState> pool_;  // null if this object was moved from
  std::size_t slot_ = 0;
  StreamPtr stream_;
};

/// A pool that creates its streams on demand. Any thread may lease and return streams. A stream may be returned while it has
/// pending work; the work of its next lease runs after that work. A returned stream that is capturing is not leased until
/// its capture has ended. A lease may outlive the pool.
class WEIR_API StreamPool {
 public:
  /// Creates a pool without streams. Throws `invalid_argument` if `max_streams` is 0.
  explicit StreamPool(Device& device, const StreamPoolOptions& options = {});
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;
  /// The device of the streams.
  Device& device() const noexcept;
  /// Leases a stream. Throws `pool_exhausted` if all streams are leased or capturing.
  [[nodiscard]] StreamLease lease();
  /// Leases a stream. Returns nullopt if all streams are leased or capturing.
  [[nodiscard]] std::optional<StreamLease> try_lease();
  /// The number of streams that the pool has created.
  [[nodiscard]] std::size_t size() const;

 private:
  Ptr<detail::StreamPoolState> state_;
};

}  // namespace weir
