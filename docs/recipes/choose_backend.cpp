// SPDX-License-Identifier: Apache-2.0
//
// How do I choose a backend in the program?
//
// `default_device()` follows the variables `WEIR_BACKEND` and `WEIR_DEVICE`. To decide in the program, probe the
// backends: that reports a broken one and throws nothing. Then open the backend that you want; that throws if it is not
// usable. Several backends can be open at once.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Registry& registry = weir::Registry::instance();
  for (const auto name : weir::Registry::known_names()) {  // cuda, hip, host
    const weir::BackendInfo& info = registry.probe(name);
    const bool usable = info.state == weir::BackendState::usable;
    std::printf("%-5s %s\n", info.name.c_str(), usable ? "usable" : info.reason.c_str());
  }

  weir::Backend& host = registry.open("host");  // throws, with the reason, if it is not usable
  weir::Device& first = host.device(0);
  weir::Device& same = weir::device("host:0");
  return first == same ? 0 : 1;
}
