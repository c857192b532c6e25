// SPDX-License-Identifier: Apache-2.0
//
// How do I put an if-else or a switch into a graph?
//
// `capture_if` takes a second body for the value 0, and `capture_switch` a body for each of the values 0, 1, 2, … For
// other values no body runs. The value is read on the device when the node is reached.
#include <array>
#include <cstdint>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_switch_nodes)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto which = device.allocate<std::uint32_t>(1);
  const auto x = device.allocate<int>(100);

  std::array<weir::UniqueFunction<void(weir::Stream&)>, 3> cases;
  for (std::size_t i = 0; i < cases.size(); ++i)
    cases[i] = [&x, value = static_cast<int>(10 * i)](weir::Stream& s) { s.fill(x, value); };
  const auto ready = stream->capture([&](weir::Stream& s) { s.capture_switch(which.data(), cases); })->instantiate();

  int wrong = 0;
  for (const std::uint32_t value : {2U, 0U, 1U}) {
    stream->fill(which, value);
    ready->launch(*stream);
    wrong += stream->read(x).back() != static_cast<int>(10 * value);
  }
  return wrong;
}
