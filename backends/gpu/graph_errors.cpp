// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/graph_errors.hpp"

#include <algorithm>

#include "weir/backend_support.hpp"

namespace weir::gpu {

void GraphErrors::Slot::run(void* slot) noexcept {
  auto* const self = static_cast<Slot*>(slot);
  const std::uint64_t launch = self->calls.load(std::memory_order_relaxed);
  const support::HostFunctionScope scope;
  try {
    self->function->function();
  } catch (...) {
    const Ptr<HostErrors> stream = self->owner->stream_of(launch);
    (stream ? *stream : *self->function->errors).add_current();
  }
  // Last, so that the entry of this launch is not forgotten while it may be needed.
  self->calls.store(launch + 1, std::memory_order_release);
}

void GraphErrors::launching(const Ptr<HostErrors>& stream) {
  std::lock_guard lock(mutex_);
  if (runs_.empty() || runs_.back().stream != stream) {
    if (runs_.size() == runs_.capacity()) {
      forget_finished();
      // Grows only where more launches are under way than ever before, and never so little that it is full again at once.
      if (runs_.size() >= runs_.capacity() / 4 * 3) runs_.reserve(std::max<std::size_t>(256, runs_.capacity() * 2));
    }
    runs_.push_back({launches_, stream});
  }
  ++launches_;
}

void GraphErrors::not_launched() noexcept {
  std::lock_guard lock(mutex_);
  --launches_;
  if (!runs_.empty() && runs_.back().first == launches_) runs_.pop_back();
}

Ptr<HostErrors> GraphErrors::stream_of(std::uint64_t launch) const {
  std::lock_guard lock(mutex_);
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->first <= launch) return run->stream;
  }
  return {};
}

void GraphErrors::forget_finished() {
  std::uint64_t finished = launches_;
  for (const Slot& slot : slots_) finished = std::min(finished, slot.calls.load(std::memory_order_acquire));
  // An entry can go when the next one begins no later than the first launch that is not finished.
  auto keep = runs_.begin();
  while (keep != runs_.end() && keep + 1 != runs_.end() && (keep + 1)->first <= finished) ++keep;
  runs_.erase(runs_.begin(), keep);
}

void GraphErrors::destroy(void* errors) noexcept {
  const support::HostFunctionScope scope;
  static_cast<GraphErrors*>(errors)->release();
}

}  // namespace weir::gpu
