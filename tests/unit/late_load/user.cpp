// SPDX-License-Identifier: Apache-2.0

// The library that the program loads late, and Weir with it.

#include <cstdio>
#include <exception>
#include <vector>

#include "weir/weir.hpp"

extern "C" WEIR_API int work_through_weir();
extern "C" int work_through_weir() try {
  weir::Device& device = weir::device("immediate");
  const auto stream = device.create_stream();
  const auto memory = device.allocate<int>(100);
  stream->fill(memory, 7);
  return stream->read(memory) == std::vector<int>(100, 7) ? 0 : 1;
} catch (const std::exception& e) {
  std::puts(e.what());
  return 1;
}
