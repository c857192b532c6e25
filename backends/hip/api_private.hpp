// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "backends/hip/api.hpp"

/// What the backend keeps beside the runtime's own state.
namespace weir::hip {

/// What the backend has made of each device. Each is made when it is first needed, for the device that is current.
class Api::Helpers {
 public:
  explicit Helpers(int device_count) : of_devices_(static_cast<std::size_t>(device_count)) {}
  /// A blocking stream that stands in for the null stream in stream-ordered allocations and frees. A blocking stream and
  /// the null stream wait for each other's work, so the order of allocation, use and free is kept.
  Result null_stream(const Api& api, hipStream_t& stream);
  /// An event that is never recorded.
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
