// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_pool.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "weir/device.hpp"
#include "weir/error.hpp"

// The functions of `StreamPool` and `StreamLease`.
namespace weir {
namespace detail {

/// The streams of a pool. The pool and its leases own this object, because a lease may outlive the pool.
class StreamPoolState final : public RefCounted {
 public:
  StreamPoolState(Device& device, const StreamPoolOptions& options) : device_(device), options_(options) {
    const std::size_t likely = std::min<std::size_t>(options.max_streams, 64);
    free_.reserve(likely);
    streams_.reserve(likely);
  }

  Device& device() const noexcept { return device_; }
  const StreamPoolOptions& options() const noexcept { return options_; }
  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return streams_.size();
  }

  /// Returns the index of a slot and its stream; a null stream if none is available.
  std::pair<std::size_t, StreamPtr> take() {
    std::lock_guard lock(mutex_);
    return options_.sharing == PoolSharing::round_robin ? take_turn() : take_free();
  }

  void give_back(std::size_t slot) noexcept {
    if (options_.sharing == PoolSharing::round_robin) return;
    std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }

 private:
  std::pair<std::size_t, StreamPtr> grow() {
    free_.reserve(streams_.size() + 1);  // so that `give_back` never allocates memory
    streams_.push_back(device_.create_stream(options_.stream));
    return {streams_.size() - 1, streams_.back()};
  }

  std::pair<std::size_t, StreamPtr> take_free() {
    // Begin with the stream that was returned last, because its data is most likely in the caches.
    for (std::size_t i = free_.size(); i-- > 0;) {
      const std::size_t slot = free_[i];
      StreamPtr stream = usable(slot);
      if (!stream) continue;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return {slot, std::move(stream)};
    }
    if (streams_.size() < options_.max_streams) return grow();
    return {0, nullptr};
  }

  std::pair<std::size_t, StreamPtr> take_turn() {
    for (std::size_t tries = 0; tries < options_.max_streams; ++tries) {
      const std::size_t slot = next_;
      // If `grow` throws, `next_` must not advance, so that the next call creates a stream for this slot.
      std::pair<std::size_t, StreamPtr> taken = slot == streams_.size() ? grow() : std::pair(slot, usable(slot));
      next_ = (next_ + 1) % options_.max_streams;
      if (taken.second) return taken;
    }
    return {0, nullptr};
  }

  /// Returns the slot's stream; null if it is capturing. If the stream was closed, creates a new one.
  StreamPtr usable(std::size_t slot) {
    if (streams_[slot]->is_closed()) streams_[slot] = device_.create_stream(options_.stream);
    return streams_[slot]->is_capturing() ? nullptr : streams_[slot];
  }

  Device& device_;
  const StreamPoolOptions options_;
  mutable std::mutex mutex_;
  std::vector<StreamPtr> streams_;
  std::vector<std::size_t> free_;
  std::size_t next_ = 0;
};

}  // namespace detail

// --- Lease ------------------------------------------------------------------------------------------------------------

StreamLease::StreamLease(Ptr<detail::StreamPoolState> pool, std::size_t slot, StreamPtr stream) noexcept
    : pool_(std::move(pool)), slot_(slot), stream_(std::move(stream)) {}

StreamLease::StreamLease(StreamLease&&) noexcept = default;

StreamLease& StreamLease::operator=(StreamLease&& other) noexcept {
  StreamLease taken = std::move(other);
  pool_.swap(taken.pool_);
  std::swap(slot_, taken.slot_);
  stream_.swap(taken.stream_);
  return *this;
}

StreamLease::~StreamLease() {
  if (pool_) pool_->give_back(slot_);
}

// --- Pool -------------------------------------------------------------------------------------------------------------

StreamPool::StreamPool(Device& device, const StreamPoolOptions& options) {
  if (options.sharing > PoolSharing::round_robin) {
    throw Error(Errc::invalid_argument, "StreamPool", device.describe(),
                "this value is not a PoolSharing; use the enumerators");
  }
  if (options.max_streams == 0)
    throw Error(Errc::invalid_argument, "StreamPool", device.describe(), "a pool cannot have max_streams = 0");
  state_ = make_ptr<detail::StreamPoolState>(device, options);
}

StreamPool::~StreamPool() = default;

Device& StreamPool::device() const noexcept { return state_->device(); }
std::size_t StreamPool::size() const { return state_->size(); }

std::optional<StreamLease> StreamPool::try_lease() {
  auto [slot, stream] = state_->take();
  if (!stream) return std::nullopt;
  return StreamLease(state_, slot, std::move(stream));
}

StreamLease StreamPool::lease() {
  if (auto lease = try_lease()) return *std::move(lease);
  throw Error(Errc::pool_exhausted, "StreamPool::lease", device().describe(),
              "all " + std::to_string(state_->options().max_streams) +
                  " streams are leased or capturing; return one, increase max_streams, or use PoolSharing::round_robin");
}

}  // namespace weir
