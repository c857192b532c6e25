// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/gpu/device.hpp"
#include "backends/gpu/errors.hpp"
#include "weir/plugin/device.hpp"

namespace weir::gpu {

template <class Api>
class GpuPartition final : public PartitionImpl {
 public:
  using Handle = typename Api::PartitionHandle;

  GpuPartition(GpuDevice<Api>& device, Handle handle, typename ComputeUnits<Api>::Groups units)
      : PartitionImpl(device, handle, ComputeUnits<Api>::count(units)), device_(device), units_(std::move(units)) {}

 protected:
  ~GpuPartition() override {
    device_.end([this] { return device_.api().destroy_partition(static_cast<Handle>(native_handle())); },
                "while a partition was destroyed");
    device_.compute_units().give_back(units_);
  }
  StreamPtr do_create_stream(int priority) override {
    const Api& api = device_.api();
    const auto current = device_.make_current();
    typename Api::StreamHandle handle = nullptr;
    check(api,
          api.create_partition_stream(static_cast<Handle>(native_handle()), Api::stream_non_blocking, priority, handle),
          "Partition::create_stream", *this);
    return make_owner(
        [&] {
          return make_ptr<GpuStream<Api>>(device_, handle, StreamKind::owned, std::make_shared<PartitionPtr>(this), true);
        },
        [&] { log_failure(api, api.StreamDestroy(handle), "while a stream was destroyed", describe()); });
  }

 private:
  GpuDevice<Api>& device_;
  const typename ComputeUnits<Api>::Groups units_;
};

template <class Api>
PartitionPtr GpuDevice<Api>::do_partition(std::uint32_t compute_units) {
  const auto current = make_current();
  std::uint32_t left = 0;
  auto units = compute_units_.take(compute_units, left);
  if (units.empty()) throw_too_few_units(compute_units, left);
  return make_owner(
      [&]() -> PartitionPtr {
        typename Api::PartitionHandle handle = nullptr;
        check(api_, api_.create_partition(context(), units, handle), "Device::partition", *this);
        return make_owner(
            [&]() -> PartitionPtr { return make_ptr<GpuPartition<Api>>(*this, handle, units); },
            [&] { log_failure(api_, api_.destroy_partition(handle), "while a partition was destroyed", describe()); });
      },
      [&] { compute_units_.give_back(units); });
}

}  // namespace weir::gpu
