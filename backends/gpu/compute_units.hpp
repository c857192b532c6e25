// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/gpu/errors.hpp"

namespace weir::gpu {

template <class Api>
class GpuDevice;

/// The compute units of a device that are in no partition. Drivers split a device once, and no part of it again. So it is
/// split into the smallest groups there are, of which each partition takes some.
template <class Api>
class ComputeUnits {
 public:
  using Groups = std::vector<typename Api::ComputeUnits>;

  explicit ComputeUnits(const GpuDevice<Api>& device) noexcept : device_(device) {}

  static std::uint32_t count(const Groups& groups) noexcept {
    std::uint32_t count = 0;
    for (const auto& group : groups) count += group.count;
    return count;
  }

  /// Groups of `wanted` units together, or a few more. None, and how many units there are left, if there are not so many.
  Groups take(std::uint32_t wanted, std::uint32_t& left) {
    const std::lock_guard lock(mutex_);
    if (!is_split_) {
      check(device_.api(), device_.api().split_compute_units(device_.context(), free_), "Device::partition", device_);
      is_split_ = true;
    }
    left = count(free_);
    Groups taken;
    if (left < wanted) return taken;
    taken.reserve(free_.size());
    while (count(taken) < wanted) {
      taken.push_back(free_.back());
      free_.pop_back();
    }
    return taken;
  }
  void give_back(const Groups& groups) noexcept {
    const std::lock_guard lock(mutex_);
    free_.insert(free_.end(), groups.begin(), groups.end());  // there was room for them
  }

 private:
  const GpuDevice<Api>& device_;
  std::mutex mutex_;  // guards what follows
  bool is_split_ = false;
  Groups free_;
};

}  // namespace weir::gpu
