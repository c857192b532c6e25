// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/gpu/device.hpp"
#include "backends/gpu/errors.hpp"
#include "weir/plugin/device.hpp"

/// A partition of a device's compute units, and `Device::partition`.
namespace weir::gpu {

template <class Api>
class GpuPartition final : public PartitionImpl {
 public:
  using Native = typename ComputeUnits<Api>::Native;

  GpuPartition(GpuDevice<Api>& device, Native&& native)
      : PartitionImpl(device, native.handle, ComputeUnits<Api>::count(native.units)),
        device_(device),
        native_(std::move(native)) {}

 protected:
  ~GpuPartition() override { device_.compute_units().give_back(std::move(native_)); }
  StreamPtr do_create_stream(int priority) override {
    const Api& api = device_.api();
    const auto current = device_.make_current();
    typename Api::StreamHandle handle = nullptr;
    check(api,
          api.GreenCtxStreamCreate(&handle, native_.handle, Api::stream_non_blocking, priority),
          "Partition::create_stream", *this);
    return make_owner(
        [&] {
          return make_ptr<GpuStream<Api>>(device_, handle, StreamKind::owned, std::make_shared<PartitionPtr>(this), true);
        },
        [&] { log_failure(api, api.StreamDestroy(handle), "while a stream was destroyed", describe()); });
  }

 private:
  GpuDevice<Api>& device_;
  Native native_;
};

template <class Api>
PartitionPtr GpuDevice<Api>::do_partition(std::uint32_t compute_units) {
  const auto current = make_current();
  std::uint32_t left = 0;
  auto native = compute_units_.take(compute_units, left);
  if (native.units.empty()) throw_too_few_units(compute_units, left);
  return make_owner([&]() -> PartitionPtr { return make_ptr<GpuPartition<Api>>(*this, std::move(native)); },
                    [&] { compute_units_.give_back(std::move(native)); });
}

}  // namespace weir::gpu
