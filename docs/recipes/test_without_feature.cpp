// SPDX-License-Identifier: Apache-2.0
//
// How do I test the path that my program takes without a feature?
//
// `WEIR_DISABLE_FEATURES` makes features absent on every device. Set it for the process, here from within, before Weir is
// first used: `WEIR_DISABLE_FEATURES=graph_capture ./program` does the same.
#include <cstdlib>
#include <weir/weir.hpp>

int main() {
  setenv("WEIR_DISABLE_FEATURES", "graph_capture", 1);
  weir::Device& device = weir::default_device();
  if (device.supports(weir::Feature::graph_capture)) return 1;
  try {
    device.create_stream()->begin_capture();
  } catch (const weir::Error& error) {
    return error.errc() == weir::Errc::unsupported ? 0 : 1;  // what() has the reason
  }
  return 1;
}
