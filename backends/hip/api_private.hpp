// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "backends/hip/api.hpp"

/// Objects that this backend keeps for its own use on each device.
namespace weir::hip {

/// The helper objects of each device. Each is created for the current device when it is first needed.
class Api::Helpers {
 public:
  explicit Helpers(int device_count) : of_devices_(static_cast<std::size_t>(device_count)) {}
  /// Sets `stream` to a blocking stream that stands in for the null stream in stream-ordered allocations and frees. A
  /// blocking stream and the null stream wait for each other's work, so allocation, use and free keep their order.
  Result null_stream(const Api& api, hipStream_t& stream);
  /// Sets `event` to an event that is never recorded.
  Result unrecorded_event(const Api& api, hipEvent_t& event);

 private:
  struct OfDevice {
    hipStream_t null_stream = nullptr;
    hipEvent_t unrecorded_event = nullptr;
  };
  template <class Handle, class Make>
  Result get(const Api& api, Handle OfDevice::* which, Handle& handle, Make&& make);

  std::mutex mutex_;
  std::vector<OfDevice> of_devices_;
};

}  // namespace weir::hip
