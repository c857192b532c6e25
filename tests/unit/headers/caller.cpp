// SPDX-License-Identifier: Apache-2.0

// Compiled several times, with different headers or options. Each result is a part of one program. It obtains a backend in
// all possible ways, and prints the results.

#include <cstdio>
#include <string>
#include <string_view>

#include "weir/interop/cuda.hpp"
#include "weir/interop/hip.hpp"
#include "weir/weir.hpp"

extern "C" void WEIR_TEST_CALLER(const char* entry);
extern "C" void WEIR_TEST_CALLER(const char* entry) {
  const std::string_view name = entry;
  try {
    if (name == "instance") weir::Registry::instance();
    if (name == "default_device") weir::default_device();
    if (name == "device") weir::device("immediate:0");
    if (name == "cuda") weir::cuda::device(0);
    if (name == "hip") weir::hip::device(0);
    std::printf("%s: fits\n", entry);
  } catch (const weir::Error& error) {
    std::printf("%s: %s\nwhat: %s\n", entry, std::string(to_string(error.errc())).c_str(), error.what());
  }
}
