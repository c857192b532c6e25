// SPDX-License-Identifier: Apache-2.0
//
// How do I test the path that my program takes without a feature?
//
// `WEIR_DISABLE_FEATURES` makes features absent on every device. Set it before Weir is first used: in the shell,
// `WEIR_DISABLE_FEATURES=graph_capture ./program`, or in the program, as here.
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
