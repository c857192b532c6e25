// SPDX-License-Identifier: Apache-2.0
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

/// Measures the cost of an operation on PyTorch's generic stream, c10::Stream, in C++: torch_streams [ROUNDS]. Weir's build
/// does not compile this file; bench/measure.py does if PyTorch is installed. The output has the format of streams.py.
namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) try {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 51;
  constexpr int calls = 400;
  const c10::Device device(c10::DeviceType::CUDA, 0);
  const c10::impl::VirtualGuardImpl guard(device.type());
  const c10::Stream stream = guard.getStreamFromGlobalPool(device), other = guard.getStreamFromGlobalPool(device);
  c10::Event event(device.type());
  event.record(stream);
  const auto drain = [&] {
    stream.synchronize();
    other.synchronize();
  };

  const std::pair<const char*, std::function<void()>> operations[] = {
      {"record", [&] { event.record(stream); }},
      {"wait (event)", [&] { other.wait(event); }},
      {"is_complete, idle", [&] { (void)stream.query(); }},
      {"synchronize, idle", [&] { stream.synchronize(); }},
      {"stream lease (raw: create + destroy)", [&] { (void)guard.getStreamFromGlobalPool(device); }},
      {"event (raw: create + destroy)",
       [&] {
         c10::Event fresh(device.type());
         fresh.record(stream);
       }},
  };
  std::printf("{\"rows\": {");
  const char* separator = "";
  for (const auto& [name, operation] : operations) {
    std::vector<double> times;
    operation();
    drain();
    for (int round = 0; round < rounds; ++round) {
      const auto begin = Clock::now();
      for (int i = 0; i < calls; ++i) operation();
      times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls);
      drain();
    }
    std::printf("%s\"%s\": %.1f", separator, name, median(times));
    separator = ", ";
  }
  std::printf("}, \"failed\": {}}\n");
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
