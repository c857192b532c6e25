// SPDX-License-Identifier: Apache-2.0
// Measures all_reduce over all devices of this process, or over the processes of a launcher: the bus bandwidth by size, and
// the time to enqueue one call. With NCCL or RCCL, it compares these with raw calls to the same library on the same
// communicators.
//
//   weir_collectives_bench [RESULTS.json [MOST_BYTES]]
//
// Bus bandwidth as in nccl-tests: bytes / time * 2 (n - 1) / n.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "examples/collectives/ranks.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Raw {
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  explicit operator bool() const { return all_reduce != nullptr; }
};

// Opens the library whose path is at the end of the label.
Raw open_raw(const std::string& label) {
  const std::size_t begin = label.find('(') + 1;
  if (begin == 0) return {};
  void* const handle = ::dlopen(label.substr(begin, label.rfind(')') - begin).c_str(), RTLD_NOW | RTLD_NOLOAD);
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

// One side of the comparison. Enqueues an all_reduce of the given number of floats on all ranks of this process.
using Enqueue = std::function<void(std::size_t)>;

struct Row {
  double bytes, weir, raw;  // times in seconds; raw is 0 without a library
};

void write_json(const char* path, const weir::Communicator& comm, std::size_t here, const std::vector<Row>& rows,
                const Row& enqueuing) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) throw std::runtime_error(std::string(path) + " cannot be written");
  const auto side = [&](const Row& row) {
    std::fprintf(file, "\"weir_us\": %.3f, \"raw_us\": ", row.weir * 1e6);
    if (row.raw != 0)
      std::fprintf(file, "%.3f}", row.raw * 1e6);
    else
      std::fprintf(file, "null}");
  };
  std::fprintf(file,
               "{\"library\": \"%s\", \"device\": \"%s\", \"ranks\": %d, \"ranks_of_a_process\": %zu,\n \"enqueue\": {",
               comm.library().c_str(), comm.device().properties().name.c_str(), comm.size(), here);
  side(enqueuing);
  std::fprintf(file, ",\n \"all_reduce\": [");
  for (const Row& row : rows) {
    std::fprintf(file, "%s\n  {\"bytes\": %.0f, ", &row == rows.data() ? "" : ",", row.bytes);
    side(row);
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace weir;
  const std::vector<CommunicatorPtr> comms = make_ranks({});
  const std::size_t here = comms.size();
  Communicator& first = *comms[0];
  const int n = first.size();
  const bool is_host = first.device().backend().name() == "host";
  const std::size_t most = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::size_t{1} << (is_host ? 26U : 30U)) / 4;
  const Raw raw = open_raw(first.library());
  // The raw call uses a stream whose handle other code has, so Weir must ask the driver whether that stream captures. For
  // Weir's side there is a stream that needs no such query.
  struct Rank {
    StreamPtr own, shared;
    void* native;
    Buffer<float> data;
  };
  std::vector<Rank> ranks;
  for (const CommunicatorPtr& comm : comms) {
    Device& device = comm->device();
    Rank rank{device.create_stream(), device.create_stream(), nullptr, device.allocate<float>(most)};
    rank.own->zero(rank.data);
    if (raw) rank.native = rank.shared->share_native_handle();
    ranks.push_back(std::move(rank));
  }
  const auto one_by_weir = [&](std::size_t i, std::size_t count) {
    float* const data = ranks[i].data.data();
    comms[i]->all_reduce_raw({data, data, count, ElementType::float32}, Reduction::sum, *ranks[i].own);
  };
  const auto one_by_raw = [&](std::size_t i, std::size_t count) {
    float* const data = ranks[i].data.data();
    raw.all_reduce(data, data, count, 7, 0, comms[i]->native_handle(), ranks[i].native);
  };
  const Enqueue by_weir = [&](std::size_t count) {
    if (here == 1) return one_by_weir(0, count);
    Communicator::group([&] {
      for (std::size_t i = 0; i < here; ++i) one_by_weir(i, count);
    });
  };
  const Enqueue by_raw = [&](std::size_t count) {
    if (here == 1) return one_by_raw(0, count);
    raw.group_start();
    for (std::size_t i = 0; i < here; ++i) one_by_raw(i, count);
    raw.group_end();
  };
  const auto synchronize = [&] {
    for (const Rank& rank : ranks) {
      rank.own->synchronize();
      rank.shared->synchronize();
    }
  };
  // Returns the seconds for one operation, if many are enqueued together.
  const auto seconds = [&](const Enqueue& operation, std::size_t count) {
    const int times =
        static_cast<int>(std::clamp<std::size_t>((is_host ? 1U << 25U : 1U << 30U) / count, is_host ? 3 : 20, 200));
    operation(count);
    synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) operation(count);
    synchronize();
    return std::chrono::duration<double>(Clock::now() - begin).count() / times;
  };
  // Returns the seconds of host time for enqueuing one operation.
  const auto enqueuing = [&](const Enqueue& operation) {
    constexpr int times = 50;
    operation(1);
    synchronize();
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) operation(1);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count() / times;
    synchronize();
    return taken;
  };
  // Alternates which side comes first, so that both run under the same conditions.
  const auto compare = [&](int rounds, const std::function<double(const Enqueue&)>& measure) {
    std::vector<double> weir_times, raw_times;
    for (int round = 0; round < rounds; ++round) {
      if (raw && round % 2 != 0) raw_times.push_back(measure(by_raw));
      weir_times.push_back(measure(by_weir));
      if (raw && round % 2 == 0) raw_times.push_back(measure(by_raw));
    }
    return Row{0, median(weir_times), raw ? median(raw_times) : 0};
  };

  const bool tells = first.rank() == 0;
  if (tells) {
    std::printf("%s, %s, %d ranks, %zu in a process\n", first.library().c_str(), first.device().properties().name.c_str(), n,
                here);
    std::printf("%12s %12s %12s %12s %12s %8s\n", "bytes", "us", "GB/s", "raw us", "raw GB/s", "ratio");
  }
  std::vector<Row> rows;
  for (std::size_t count = 1; count <= most; count *= 4) {
    Row row = compare(7, [&](const Enqueue& operation) { return seconds(operation, count); });
    row.bytes = static_cast<double>(count) * sizeof(float);
    rows.push_back(row);
    if (!tells) continue;
    const double moved = row.bytes * (n > 1 ? 2.0 * (n - 1) / n : 1.0) * 1e-9;
    std::printf("%12.0f %12.2f %12.2f", row.bytes, row.weir * 1e6, moved / row.weir);
    if (raw) std::printf(" %12.2f %12.2f %8.3f", row.raw * 1e6, moved / row.raw, row.raw / row.weir);
    std::printf("\n");
    std::fflush(stdout);
  }
  const Row cost = compare(81, enqueuing);
  if (tells) {
    std::printf("enqueuing %s%zu: %.2f us", here > 1 ? "one group of " : "", here, cost.weir * 1e6);
    if (raw) std::printf(", raw %.2f us, ratio %.3f", cost.raw * 1e6, cost.weir / cost.raw);
    std::printf("\n");
    if (argc > 1) write_json(argv[1], first, here, rows, cost);
  }
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
