// SPDX-License-Identifier: Apache-2.0
// All-reduce over all devices of this process: bus bandwidth by size, and what enqueuing costs; with NCCL or RCCL beside the
// raw calls of the same library on the same communicators and streams.
//
// Bus bandwidth is nccl-tests': bytes / time * 2 (n - 1) / n.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "weir/weir.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Raw {
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  explicit operator bool() const { return all_reduce != nullptr; }
};

Raw open_raw(const std::string& library) {
  const std::size_t begin = library.find('(') + 1;
  if (begin == 0) return {};
  void* const handle = ::dlopen(library.substr(begin, library.rfind(')') - begin).c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  Raw raw;
  raw.group_start = reinterpret_cast<int (*)()>(::dlsym(handle, "ncclGroupStart"));
  raw.group_end = reinterpret_cast<int (*)()>(::dlsym(handle, "ncclGroupEnd"));
  raw.all_reduce =
      reinterpret_cast<int (*)(const void*, void*, std::size_t, int, int, void*, void*)>(::dlsym(handle, "ncclAllReduce"));
  return raw;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() try {
  using namespace weir;
  Backend& backend = Registry::instance().default_backend();
  std::vector<Device*> devices;
  for (int i = 0; i < backend.device_count(); ++i) devices.push_back(&backend.device(i));
  const auto comms = Communicator::from_devices(devices);
  const std::size_t n = comms.size();
  const bool is_host = backend.name() == "host";
  const std::size_t most = std::size_t{1} << (is_host ? 24U : 28U);  // floats
  std::vector<StreamPtr> streams;
  std::vector<void*> native;
  std::vector<Buffer<float>> data;
  for (Device* const device : devices) {
    streams.push_back(device->create_stream());
    data.push_back(device->allocate<float>(most));
    streams.back()->zero(data.back());
    native.push_back(is_host ? nullptr : streams.back()->native_handle());
  }
  // The raw call is told the stream, and Weir then asks the driver whether it captures; streams of which only Weir knows do
  // not need that, so each side has its own.
  std::vector<StreamPtr> own;
  for (Device* const device : devices) own.push_back(device->create_stream());
  const Raw raw = open_raw(comms[0]->library());
  std::printf("%s, %zu devices\n", comms[0]->library().c_str(), n);

  const auto by_weir = [&](std::size_t count) {
    Communicator::group([&] {
      for (std::size_t i = 0; i < n; ++i) {
        comms[i]->all_reduce_raw(data[i].data(), data[i].data(), count, ElementType::float32, Reduction::sum, *own[i]);
      }
    });
  };
  const auto by_raw = [&](std::size_t count) {
    raw.group_start();
    for (std::size_t i = 0; i < n; ++i)
      raw.all_reduce(data[i].data(), data[i].data(), count, 7, 0, comms[i]->native_handle(), native[i]);
    raw.group_end();
  };
  const auto synchronize = [&] {
    for (std::size_t i = 0; i < n; ++i) {
      own[i]->synchronize();
      streams[i]->synchronize();
    }
  };
  // Seconds of one operation, of many that are enqueued at once.
  const auto seconds = [&](const std::function<void(std::size_t)>& operation, std::size_t count) {
    const int times = static_cast<int>(std::clamp<std::size_t>((is_host ? 1U << 26U : 1U << 30U) / (count + 1), 5, 200));
    operation(count);
    synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) operation(count);
    synchronize();
    return std::chrono::duration<double>(Clock::now() - begin).count() / times;
  };
  // Seconds that the host takes to enqueue one operation.
  const auto enqueuing = [&](const std::function<void(std::size_t)>& operation) {
    constexpr int times = 50;
    operation(1);
    synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) operation(1);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count() / times;
    synchronize();
    return taken;
  };

  std::printf("%12s %12s %12s %12s %12s %8s\n", "bytes", "us", "GB/s", "raw us", "raw GB/s", "ratio");
  for (std::size_t count = 1; count <= most; count *= 4) {
    std::vector<double> weir_times, raw_times;
    for (int round = 0; round < (count > (1U << 26U) ? 3 : 5);
         ++round) {  // side by side, so that both meet the same machine
      weir_times.push_back(seconds(by_weir, count));
      if (raw) raw_times.push_back(seconds(by_raw, count));
    }
    const double t = median(weir_times);
    const double bytes = static_cast<double>(count) * sizeof(float);
    const double factor = n > 1 ? 2.0 * static_cast<double>(n - 1) / static_cast<double>(n) : 1.0;
    std::printf("%12.0f %12.2f %12.2f", bytes, t * 1e6, bytes / t * factor * 1e-9);
    if (raw) {
      const double r = median(raw_times);
      std::printf(" %12.2f %12.2f %8.3f", r * 1e6, bytes / r * factor * 1e-9, r / t);
    }
    std::printf("\n");
  }
  std::vector<double> weir_times, raw_times;
  for (int round = 0; round < 41; ++round) {
    weir_times.push_back(enqueuing(by_weir));
    if (raw) raw_times.push_back(enqueuing(by_raw));
  }
  std::printf("enqueuing one group of %zu: %.2f us", n, median(weir_times) * 1e6);
  if (raw) std::printf(", raw %.2f us, ratio %.3f", median(raw_times) * 1e6, median(weir_times) / median(raw_times));
  std::printf("\n");
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
