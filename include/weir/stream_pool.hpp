// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"

/// A pool of streams, for code that needs one now and then: streams are costly to make, and on some drivers few.
namespace weir {

enum class PoolSharing : std::uint8_t {
  exclusive,    ///< a stream is leased to one at a time
  round_robin,  ///< all leases take turns over `max_streams` streams; two of them may be of the same stream
};

struct StreamPoolOptions {
  std::size_t max_streams = 32;  ///< at least 1
  PoolSharing sharing = PoolSharing::exclusive;
  StreamOptions stream = {};
};

namespace detail {
class StreamPoolState;
}

/// A stream on loan; goes back with the lease. Movable.
class WEIR_API StreamLease {
 public:
  StreamLease(StreamLease&& other) noexcept;
  StreamLease& operator=(StreamLease&& other) noexcept;
  ~StreamLease();

  Stream& operator*() const noexcept { return *stream_; }
  Stream* operator->() const noexcept { return stream_.get(); }
  /// The stream, for what shares its ownership. It is on loan all the same.
  const StreamPtr& stream() const noexcept { return stream_; }

 private:
  friend class StreamPool;
  StreamLease(Ptr<detail::StreamPoolState> pool, std::size_t slot, StreamPtr stream) noexcept;

  Ptr<detail::StreamPoolState> pool_;  // null once moved from
  std::size_t slot_ = 0;
  StreamPtr stream_;
};

/// Makes its streams when they are first needed. A lease may outlive the pool. Any thread may lease and give back. A stream
/// that comes back with work goes on with it: the next lease's work runs behind. A stream that comes back capturing is
/// skipped until its capture has ended.
class WEIR_API StreamPool {
 public:
  /// Throws `invalid_argument` for no streams at all.
  explicit StreamPool(Device& device, const StreamPoolOptions& options = {});
  ~StreamPool();
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;
  Device& device() const noexcept;
  /// Throws `pool_exhausted` if every stream is leased or capturing.
  StreamLease lease();
  /// Nothing if every stream is leased or capturing.
  std::optional<StreamLease> try_lease();
  /// How many streams were made so far.
  std::size_t size() const;

 private:
  Ptr<detail::StreamPoolState> state_;
};

}  // namespace weir
