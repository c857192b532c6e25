// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests kernels from libraries and other projects, in styles that the other tests lack.
namespace weir::test::strangers_test {
namespace {

const ModulePtr& module() { return corpus("narrow_strangers"); }
const ModulePtr& everyday() { return corpus("narrow_everyday"); }
const ModulePtr& library() { return corpus("narrow_library"); }

template <class T>
const T& at(const std::vector<T>& values, long index) {
  return values[static_cast<std::size_t>(index)];
}

TEST_SUITE_BEGIN("warps of 32");

TEST_CASE("strangers: attention over pages of keys, with a slope for each head") {
  constexpr int heads = 3, size = 64, block = 16, pages = 9, sequences = 2, pages_each = 4;
  constexpr int head_stride = block * size, page_stride = heads * head_stride;
  const auto q = random_floats(sequences * heads * size, 1);
  const auto k = random_floats(pages * page_stride, 2), v = random_floats(pages * page_stride, 3);
  const std::vector<int> tables = {3, 1, 7, 0, 8, 2, 5, 4}, lengths = {61, 18};
  const std::vector<float> slopes = {0.5F, 0.0F, 0.125F};
  const auto out = upload(std::vector<float>(sequences * heads * size));
  launch(module()->untyped_kernel("vllm::paged_attention<float, 64, 16, 128>"),
         {.grid = {heads, sequences}, .block = {128}, .shared_memory_bytes = pages_each * block * sizeof(float)}, out,
         upload(q), upload(k), upload(v), 0.125F, upload(tables), upload(lengths), pages_each, upload(slopes), heads * size,
         page_stride, head_stride);
  std::vector<double> expected;
  for (long s = 0; s < sequences; ++s)
    for (long h = 0; h < heads; ++h) {
      const long n = at(lengths, s);
      std::vector<double> p, sum(size);
      const auto element = [&](const std::vector<float>& cache, long t, long c) {
        return static_cast<double>(
            at(cache, at(tables, s * pages_each + t / block) * page_stride + h * head_stride + t % block * size + c));
      };
      for (long t = 0; t < n; ++t) {
        double dot = 0;
        for (long c = 0; c < size; ++c) dot += at(q, (s * heads + h) * size + c) * element(k, t, c);
        p.push_back(std::exp(dot * 0.125 + at(slopes, h) * static_cast<double>(t - n + 1)));
      }
      const double total = std::accumulate(p.begin(), p.end(), 0.0);
      for (long t = 0; t < n; ++t)
        for (long c = 0; c < size; ++c) sum[static_cast<std::size_t>(c)] += at(p, t) / total * element(v, t, c);
      expected.insert(expected.end(), sum.begin(), sum.end());
    }
  CHECK(difference(download(out), expected) < 1e-4);
}

TEST_CASE("strangers: a reduction with a lambda, and intervals with operators") {
  const auto in = random_floats(4096, 4);
  const double sum = std::accumulate(in.begin(), in.end(), 0.0);
  const auto parts = upload(std::vector<float>(4));
  launch(module()->untyped_kernel("reduce7<float, 256, true>"),
         {.grid = {4}, .block = {256}, .shared_memory_bytes = 32 * sizeof(float)}, upload(in), parts, 4096U);
  CHECK(std::fabs(std::accumulate(parts.data(), parts.data() + 4, 0.0) - sum) < 1e-3);

  struct Range {
    float low, high;
  };
  const auto ranges = upload(std::vector<Range>(3));
  const auto total = upload(std::vector<float>(1));
  const auto ticks = upload(std::vector<long long>(3));
  launch(module()->untyped_kernel("ranges"), {.grid = {3}, .block = {128}, .shared_memory_bytes = 128 * 12}, upload(in),
         ranges, total, ticks, 4096);
  float low = 1, high = -1;
  for (int i = 0; i < 3; ++i) {
    low = std::min(low, ranges.data()[i].low);
    high = std::max(high, ranges.data()[i].high);
    CHECK(ticks.data()[i] > 0);
  }
  CHECK(low == *std::min_element(in.begin(), in.end()));
  CHECK(high == *std::max_element(in.begin(), in.end()));
  CHECK(std::fabs(total.data()[0] - sum) < 1e-3);
}

TEST_CASE("strangers: meetings behind ?:, && and ||, in conditions and in steps") {
  for (const int width : {1, 2, 3}) {
    CAPTURE(width);
    auto in = random_ints(96, 5, 0, 80);
    in[40] = 95;
    if (width == 3) in[70] = 7;
    const auto out = upload(std::vector<int>(96 * 7));
    constexpr int n = 60;
    launch(module()->untyped_kernel("k_conditions"), {.grid = {1}, .block = {96}}, upload(in), out, n, width);
    const bool seven = std::find(in.begin(), in.end(), 7) != in.end();
    for (long t = 0; t < 96; ++t) {
      CAPTURE(t);
      const long first = t / 32 * 32, lane = t % 32;
      const auto begin = in.begin() + first, end = begin + 32;
      const int v = at(in, t), other = at(in, t ^ 1), most = *std::max_element(begin, end);
      const auto odd = std::count_if(begin, end, [](int x) { return x % 2 != 0; });
      const int* const given = out.data() + t * 7;
      CHECK(given[0] == (width > 1 ? other : v));
      // lane 0 has what lane 1 sent, which is the same
      CHECK(given[1] == (lane < 16 ? at(in, first + 3) : at(in, first + 19) * 2) + (most > 50 ? most : 0) + (odd << 20));
      CHECK(given[2] == static_cast<int>(most > 90));
      CHECK(given[3] == 1);
      int steps = 0;
      for (int i = 0; i < n && most >= i; i += 1 + (*begin > i ? 1 : 0)) steps += i == 5 ? 0 : i;
      CHECK(given[4] == steps);
      CHECK(given[5] == (width == 3 && seven ? 5000000 : (other + 1) / 1000));
      CHECK(given[6] == (width > 2 ? (496 + other) * 4 : 1));
    }
  }
}

TEST_CASE("strangers: comparisons before conditions, and captures") {
  const auto in = random_ints(64, 9, 0, 100);
  const auto out = upload(std::vector<int>(64 * 6));
  launch(module()->untyped_kernel("k_comparisons"), {.grid = {1}, .block = {64}}, upload(in), out, 3);
  for (long t = 0; t < 64; ++t) {
    CAPTURE(t);
    const bool low = t % 32 < 16;
    const int v = at(in, t), third = at(in, t / 32 * 32 + 3), other = at(in, t ^ 1);
    const int* const given = out.data() + t * 6;
    CHECK(given[0] == (low ? third : v / 2));
    CHECK(given[1] == static_cast<int>(v > 5));
    CHECK(given[2] == static_cast<int>(low ? v > third : t < 20));
    CHECK(given[3] == 7 + 3 * other);
    CHECK(given[4] == other * 5);
    CHECK(given[5] == other * 2 + v);
  }
}

TEST_CASE("strangers: lambdas in which threads meet") {
  constexpr int n = 117;
  const auto in = random_floats(n, 6);
  const auto out = upload(std::vector<float>(n + 32));
  launch(module()->untyped_kernel("k_lambdas"), {.grid = {1}, .block = {128}}, upload(in), out, n);
  const double mean = std::accumulate(in.begin(), in.end(), 0.0) / n;
  double variance = 0;
  for (const float x : in) variance += (x - mean) * (x - mean) / n;
  std::vector<double> expected;
  for (const float x : in) expected.push_back((x - mean) / std::sqrt(variance + 1e-5));
  CHECK(difference(std::vector<float>(out.data(), out.data() + n), expected) < 1e-4);
  // The last warp to write is one of four: its values lie beside those of its neighbours, twice exchanged.
  for (long lane = 0; lane < 32; ++lane) {
    bool found = false;
    for (long warp = 0; warp < 4; ++warp) {
      const long t = warp * 32 + lane;
      const double value = t < n ? at(expected, t) : 0;
      found = found || std::fabs(out.data()[n + lane] - (value * 2 + 2)) < 1e-3;
    }
    CHECK(found);
  }
}

TEST_CASE("strangers: a scan that looks back over the blocks before it") {
  constexpr int n = 256 * 70 - 13;
  const auto in = random_ints(n, 8, -50, 100);
  const auto out = upload(std::vector<int>(n));
  const auto states = upload(std::vector<std::uint64_t>(70));
  launch(library()->untyped_kernel("scan_lookback"), {.grid = {70}, .block = {256}}, upload(in), out, states, n);
  std::vector<int> expected(n);
  std::partial_sum(in.begin(), in.end(), expected.begin());
  CHECK(download(out) == expected);
}

TEST_CASE("everyday: references to variables, members, elements and shared objects") {
  constexpr int n = 250, threads = 96;
  const auto in = random_floats(n, 11);
  const auto out = upload(std::vector<float>(n * 10));
  launch(everyday()->untyped_kernel("references"), {.grid = {3}, .block = {threads}}, upload(in), out, n);
  for (long i = 0; i < n; ++i) {
    CAPTURE(i);
    const long first = i / threads * threads;
    const auto x = [&](long t) { return first + t < n ? static_cast<double>(at(in, first + t)) : 0.0; };
    double sum = 0, squares = 0, cubes = 0, shifted = 0;
    for (long t = 0; t < threads; ++t) {
      sum += x(t);
      squares += x(t) * x(t);
      cubes += x(t) * x(t) * x(t);
    }
    for (long k = 0; k < 3; ++k) shifted += x((i - first + k) % threads);
    const double expected[] = {sum, squares, cubes, 3.0 * threads, sum, threads, 3.0, shifted, 6.0};
    for (long k = 0; k < 9; ++k) {
      CAPTURE(k);
      CHECK(std::fabs(out.data()[i * 10 + k] - expected[k]) < 1e-3);
    }
  }
}

TEST_CASE("everyday: overloads, names out of namespaces, lambdas by name, loops over arrays and until nobody waits") {
  constexpr long threads = 96;
  const auto in = random_ints(threads, 12, 0, 900);
  const auto out = upload(std::vector<int>(threads * 6));
  launch(everyday()->untyped_kernel("everyday_mix"), {.grid = {1}, .block = {96}}, upload(in), out);
  const auto given = [&](long row, long t) { return out.data()[row * threads + t]; };
  std::vector<int> walk = in;
  for (const long step : {1, 5, 30}) {
    const std::vector<int> line = walk;
    for (long t = 0; t < threads; ++t) walk[static_cast<std::size_t>(t)] += at(line, (t + step) % threads);
  }
  for (long first = 0, sum = 0; first < threads; first += 32) {
    std::vector<int> sorted(in.begin() + first, in.begin() + first + 32), pairs;
    for (const int v : sorted) pairs.push_back(v % 4 * 1000 + v);
    std::sort(sorted.begin(), sorted.end());
    std::sort(pairs.begin(), pairs.end());
    int order = 0;
    for (long lane = 0; lane < 32; ++lane) {
      const long t = first + lane, next = lane < 31 ? t + 1 : t;
      CAPTURE(t);
      sum += at(in, t);
      CHECK(given(0, t) == at(sorted, lane));
      CHECK(given(1, t) == at(pairs, lane));
      CHECK(given(2, t) == sum);
      CHECK(given(3, t) == sorted.back());
      const bool waits = at(in, t) % 3 != 0;
      CHECK(given(4, t) == (waits ? order : -1));
      order += waits && at(in, t) % 2 != 0 ? 1 : 0;
      CHECK(given(5, t) == at(in, next) + 3 * at(walk, next));
    }
  }
}

TEST_CASE("everyday: specializations, structured bindings, and dynamic shared memory in rows") {
  constexpr long threads = 96;
  const auto in = random_floats(threads, 13);
  const auto out = upload(std::vector<float>(threads * 4));
  launch(everyday()->untyped_kernel("everyday_parts"),
         {.grid = {1}, .block = {threads}, .shared_memory_bytes = 3 * 33 * sizeof(float)}, upload(in), out);
  std::vector<double> sums;
  for (long first = 0; first < threads; first += 32)
    sums.push_back(std::accumulate(in.begin() + first, in.begin() + first + 32, 0.0));
  for (long t = 0; t < threads; ++t) {
    CAPTURE(t);
    const auto given = [&](long row) { return static_cast<double>(out.data()[row * threads + t]); };
    CHECK(std::fabs(given(0) - (at(sums, t / 32) + 32)) < 1e-4);
    CHECK(std::fabs(given(1) - 10.0 * static_cast<double>(at(in, t ^ 1))) < 1e-4);
    CHECK(given(2) == static_cast<double>(t + (t ^ 2)));
    CHECK(std::fabs(given(3) - at(sums, (t / 32 + 1) % 3)) < 1e-4);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::strangers_test
