// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/capture_keeper.hpp"

#include <algorithm>
#include <utility>

namespace weir::gpu {

void CaptureKeeper::began(std::uint64_t capture) { began_body(capture, 0); }

void CaptureKeeper::began_body(std::uint64_t body, std::uint64_t capture) {
  const std::lock_guard lock(mutex_);
  open_[body] = Entry{capture, {}};
  epoch_.fetch_add(1, std::memory_order_acq_rel);
}

bool CaptureKeeper::knows(std::uint64_t capture) {
  const std::lock_guard lock(mutex_);
  return open_.contains(capture);
}

bool CaptureKeeper::keep(std::uint64_t capture, const ModulePtr& module) {
  const std::lock_guard lock(mutex_);
  auto entry = open_.find(capture);
  while (entry != open_.end() && entry->second.outer != 0) entry = open_.find(entry->second.outer);
  if (entry == open_.end()) return false;
  KeptModules& modules = entry->second.modules;
  if (std::find(modules.begin(), modules.end(), module) == modules.end()) modules.push_back(module);
  return true;
}

KeptModules CaptureKeeper::ended(std::uint64_t capture) noexcept {
  const std::lock_guard lock(mutex_);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  const auto entry = open_.find(capture);
  if (entry == open_.end()) return {};
  KeptModules modules = std::move(entry->second.modules);
  open_.erase(entry);
  return modules;
}

}  // namespace weir::gpu
