// SPDX-License-Identifier: Apache-2.0
//
// How do I find out what a device can do?
//
// A capability that is not supported by some device or driver is a `Feature`. To check one, `supports` is a bit test,
// cheap enough for each call. `feature` also returns the reason why one is absent. `require` throws once, with the
// reasons for all missing features: call it when the program starts.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  const weir::Device& device = weir::default_device();
  for (const weir::Feature feature : weir::all_features()) {
    const weir::FeatureState& state = device.feature(feature);
    if (state.support == weir::Support::native) continue;
    std::printf("%s is %s: %s\n", to_string(feature).data(), to_string(state.support).data(), state.reason.c_str());
  }

  device.require({weir::Feature::event_timing, weir::Feature::host_functions});
  const bool graphs = device.supports(weir::Feature::graph_capture);
  std::printf("%s\n", graphs ? "work can be captured" : "work has to be enqueued each time");
  return 0;
}
