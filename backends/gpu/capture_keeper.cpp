// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/capture_keeper.hpp"

#include <algorithm>
#include <utility>

namespace weir::gpu {

void CaptureKeeper::began(std::uint64_t capture, const GraphPtr& resumed) { add({capture, 0, {{}, resumed}}); }

void CaptureKeeper::began_body(std::uint64_t body, std::uint64_t capture) { add({body, capture, {}}); }

void CaptureKeeper::add(Entry&& entry) {
  const std::lock_guard lock(mutex_);
  open_.push_back(std::move(entry));
  epoch_.fetch_add(1, std::memory_order_acq_rel);
}

std::vector<CaptureKeeper::Entry>::iterator CaptureKeeper::find(std::uint64_t capture) noexcept {
  return std::find_if(open_.begin(), open_.end(), [&](const Entry& entry) { return entry.capture == capture; });
}

bool CaptureKeeper::knows(std::uint64_t capture) {
  const std::lock_guard lock(mutex_);
  return find(capture) != open_.end();
}

bool CaptureKeeper::keep(std::uint64_t capture, const ModulePtr& module) {
  const std::lock_guard lock(mutex_);
  auto entry = find(capture);
  while (entry != open_.end() && entry->outer != 0) entry = find(entry->outer);
  if (entry == open_.end()) return false;
  KeptModules& modules = entry->kept.modules;
  if (std::find(modules.begin(), modules.end(), module) == modules.end()) modules.push_back(module);
  return true;
}

CaptureKeeper::Kept CaptureKeeper::ended(std::uint64_t capture) noexcept {
  const std::lock_guard lock(mutex_);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  const auto entry = find(capture);
  if (entry == open_.end()) return {};
  Kept kept = std::move(entry->kept);
  open_.erase(entry);
  return kept;
}

}  // namespace weir::gpu
