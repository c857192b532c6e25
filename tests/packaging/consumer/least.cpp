// SPDX-License-Identifier: Apache-2.0
// A program in one file, for builds without CMake. Prints the path of the host plugin, or nothing if the backend is built
// in.
#include <cstdio>
#include <vector>

#include "weir/weir.hpp"

int main() {
  weir::Device& device = weir::device("host");
  const auto stream = device.create_stream();
  const auto memory = device.allocate<int>(1000);
  std::vector<int> result(memory.size());
  stream->fill(memory, 42);
  stream->copy(result, memory);
  stream->synchronize();
  std::printf("%s\n", weir::Registry::instance().probe("host").plugin_path.c_str());
  return result == std::vector<int>(1000, 42) ? 0 : 1;
}
