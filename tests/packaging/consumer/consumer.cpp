// SPDX-License-Identifier: Apache-2.0
// A minimal program that shows that the library is found, finds its host plugin, and works. Prints the plugin's path.
#include <cstdio>
#include <exception>
#include <vector>

#include "weir/weir.hpp"

int main() try {
  weir::Device& device = weir::device("host");
  const auto stream = device.create_stream();
  const auto memory = device.allocate<int>(1000);
  std::vector<int> result(memory.size());
  bool called = false;
  stream->fill(memory, 14);
  stream->launch(device.load(weir_kernels(triple))->untyped_kernel("triple"), weir::grid_for(memory.size()), 1000, memory);
  stream->copy(result, memory);
  stream->launch_host_function([&called] { called = true; });
  stream->synchronize();
  for (const int value : result) called = called && value == 42;
  std::printf("%s\n", weir::Registry::instance().probe("host").plugin_path.c_str());
  return called ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
