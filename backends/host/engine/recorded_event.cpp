// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/recorded_event.hpp"

#include <mutex>
#include <utility>

namespace weir::host {

void RecordedEvent::record_at(Signal& signal, std::uint64_t number) noexcept {
  RecordPoint old;  // destroyed outside the lock
  std::lock_guard lock(lock_);
  if (point_.signal.get() != &signal || point_.capture) {
    std::swap(old, point_);
    point_.signal = Ptr<Signal>(&signal);
  }
  point_.number = number;
}

void RecordedEvent::record_in(Ptr<RefCounted> capture, std::vector<std::uint32_t> nodes) {
  RecordPoint point{nullptr, 0, std::move(capture), std::move(nodes)};
  std::lock_guard lock(lock_);
  std::swap(point_, point);
}

RecordPoint RecordedEvent::point() const {
  std::lock_guard lock(lock_);
  return point_;
}

void RecordedEvent::stamp() noexcept { time_.store(Clock::now().time_since_epoch().count(), std::memory_order_release); }

void RecordedEvent::forget() noexcept {
  {
    RecordPoint old;  // destroyed outside the lock
    std::lock_guard lock(lock_);
    std::swap(old, point_);
  }
  time_.store(0, std::memory_order_relaxed);
}

}  // namespace weir::host
