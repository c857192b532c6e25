// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/gpu/device_resource.hpp"
#include "backends/gpu/errors.hpp"

namespace weir::gpu {

template <class Api>
class GpuDevice;

/// The compute units of a device, and its unused native partitions. Drivers split a device only once. So this class splits
/// the device into the smallest possible groups, and builds each partition from some of them. For each destroyed partition,
/// CUDA's driver keeps 1.7 MiB of host memory and 4 MiB of device memory. So an unused partition is kept for the next
/// request of its size, and destroyed only if a request of another size needs its units.
template <class Api>
class ComputeUnits {
 public:
  using Groups = std::vector<DeviceResource>;
  struct Native {
    typename Api::PartitionHandle handle = nullptr;
    Groups units;
  };

  explicit ComputeUnits(const GpuDevice<Api>& device) noexcept : device_(device) {}

  static std::uint32_t count(const Groups& groups) noexcept {
    std::uint32_t count = 0;
    for (const auto& group : groups) count += group.count;
    return count;
  }

  /// Returns a partition of `wanted` units or slightly more. If too few units are free, the result has no handle. `left` is
  /// set to the number of free units.
  Native take(std::uint32_t wanted, std::uint32_t& left) {
    const std::lock_guard lock(mutex_);
    const Api& api = device_.api();
    if (!is_split_) {
      free_ = split();
      idle_.reserve(free_.size());
      is_split_ = true;
    }
    left = count(free_);
    for (const Native& idle : idle_) left += count(idle.units);
    if (left < wanted) return {};
    const auto fitting = std::find_if(idle_.begin(), idle_.end(), [&](const Native& idle) {
      const std::uint32_t size = count(idle.units);
      return size >= wanted && size - idle.units.back().count < wanted;
    });
    if (fitting != idle_.end()) {
      Native native = std::move(*fitting);
      idle_.erase(fitting);
      return native;
    }
    while (count(free_) < wanted) {
      device_.end([&] { return api.GreenCtxDestroy(idle_.back().handle); }, "while a partition was destroyed");
      // Cannot throw: the capacity was reserved.
      free_.insert(free_.end(), idle_.back().units.begin(), idle_.back().units.end());
      idle_.pop_back();
    }
    Native native;
    native.units.reserve(free_.size());
    while (count(native.units) < wanted) {
      native.units.push_back(free_.back());
      free_.pop_back();
    }
    void* description = nullptr;
    auto result = api.DevResourceGenerateDesc(&description, native.units.data(), static_cast<unsigned>(native.units.size()));
    if (result == Api::success) {
      result = api.GreenCtxCreate(&native.handle, description, Api::device_of(device_.context()), Api::partition_flags);
    }
    if (result != Api::success) free_.insert(free_.end(), native.units.begin(), native.units.end());
    check(api, result, "Device::partition", device_);
    return native;
  }
  void give_back(Native&& native) noexcept {
    const std::lock_guard lock(mutex_);
    // Cannot throw: the capacity was reserved, because each partition has at least one group.
    idle_.push_back(std::move(native));
  }

 private:
  /// Splits the device into the smallest possible groups. The remaining units form one more group of another size, which
  /// partitions use last.
  Groups split() const {
    const Api& api = device_.api();
    const auto checked = [&](typename Api::Result result) { check(api, result, "Device::partition", device_); };
    DeviceResource all{}, rest{};
    checked(api.DeviceGetDevResource(Api::device_of(device_.context()), &all, resource_compute_units));
    unsigned count = 0;  // without an array the driver returns only the number of groups
    checked(api.DevSmResourceSplitByCount(nullptr, &count, &all, nullptr, 0, 1));
    Groups groups(count);
    checked(api.DevSmResourceSplitByCount(groups.data(), &count, &all, &rest, 0, 1));
    groups.resize(count);
    if (rest.count != 0) groups.insert(groups.begin(), rest);
    return groups;
  }

  const GpuDevice<Api>& device_;
  std::mutex mutex_;  // guards the members below
  bool is_split_ = false;
  Groups free_;
  std::vector<Native> idle_;
};

}  // namespace weir::gpu
