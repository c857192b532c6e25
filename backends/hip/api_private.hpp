// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "backends/hip/api.hpp"

/// The backend's own state in addition to the runtime's.
namespace weir::hip {

/// Helper objects of each device. Each is created on first use, for the current device.
class Api::Helpers {
 public:
  explicit Helpers(int device_count) : of_devices_(static_cast<std::size_t>(device_count)) {}
  /// A blocking stream that replaces the null stream in stream-ordered allocations and frees. A blocking stream and the null
  /// stream wait for each other's work, so the order of allocation, use and free is kept.
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
