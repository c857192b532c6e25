// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/workgroup/driver.hpp"

// Tests kernels whose lanes work together.

namespace {

const driver::Module& module() {
  static const driver::Module loaded((std::string(std::getenv("WEIR_TEST_FOLDER")) + "/warp.so").c_str());
  return loaded;
}

std::vector<int> numbers(int n, int limit = 1000) {
  std::vector<int> values(static_cast<std::size_t>(n));
  unsigned state = 4711;
  for (int& value : values) value = static_cast<int>((state = state * 1664525U + 1013904223U) >> 16U) % limit;
  return values;
}

std::vector<float> floats(int n) {
  std::vector<float> values;
  for (const int v : numbers(n)) values.push_back(static_cast<float>(v) / 100);
  return values;
}

// The sum of a warp as a butterfly makes it.
float butterfly(std::vector<float> v) {
  for (std::size_t k = 16; k > 0; k /= 2) {
    std::vector<float> next(32);
    for (std::size_t l = 0; l < 32; ++l) next[l] = v[l] + v[l ^ k];
    v = next;
  }
  return v[0];
}

TEST_CASE("sums by shuffles have the bits of a GPU's order") {
  const std::vector<float> in = floats(4096);
  for (const std::uint32_t threads : {32U, 128U, 1024U}) {
    for (const int n : {4096, 4001}) {
      std::vector<float> out(128);
      const float* p = in.data();
      float* o = out.data();
      CHECK(module().launch("warp_sums", {4096 / threads}, {threads}, {&p, &o, &n}).fault == "");
      for (std::size_t w = 0; w < 128; ++w) {
        std::vector<float> lanes(32);
        for (std::size_t l = 0; l < 32; ++l) lanes[l] = static_cast<int>(w * 32 + l) < n ? in[w * 32 + l] : 0;
        REQUIRE(out[w] == butterfly(lanes));
      }
    }
  }
}

TEST_CASE("softmax, a warp for each row") {
  constexpr int rows = 13;
  for (const int columns : {1, 31, 32, 100, 500}) {
    const std::vector<float> in = floats(rows * columns);
    std::vector<float> out(in.size());
    const float* p = in.data();
    float* o = out.data();
    CHECK(module().launch("softmax", {4}, {32, 4}, {&p, &o, &rows, &columns}).fault == "");
    for (int r = 0; r < rows; ++r) {
      const auto* const x = in.data() + r * columns;
      const float most = *std::max_element(x, x + columns);
      double sum = 0;
      for (int i = 0; i < columns; ++i) sum += std::exp(x[i] - most);
      for (int i = 0; i < columns; ++i)
        REQUIRE(out[r * columns + i] == doctest::Approx(std::exp(x[i] - most) / sum).epsilon(1e-4));
    }
  }
}

TEST_CASE("layer norm, a block for each row") {
  for (const int columns : {5, 256, 777}) {
    const std::vector<float> in = floats(3 * columns);
    std::vector<float> out(in.size());
    const float* p = in.data();
    float* o = out.data();
    CHECK(module().launch("layer_norm", {3}, {128}, {&p, &o, &columns}).fault == "");
    for (int r = 0; r < 3; ++r) {
      const auto* const x = in.data() + r * columns;
      const double mean = std::accumulate(x, x + columns, 0.0) / columns;
      double squares = 0;
      for (int i = 0; i < columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
      for (int i = 0; i < columns; ++i)
        REQUIRE(out[r * columns + i] == doctest::Approx((x[i] - mean) / std::sqrt(squares / columns + 1e-5)).epsilon(1e-3));
    }
  }
}

TEST_CASE("sums of blocks by a grid stride") {
  const std::vector<int> in = numbers(10000);
  for (const int n : {10000, 777, 3}) {
    std::vector<int> out(3);
    const int* p = in.data();
    int* o = out.data();
    CHECK(module().launch("block_sums", {3}, {256}, {&p, &o, &n}).fault == "");
    CHECK(std::accumulate(out.begin(), out.end(), 0) == std::accumulate(in.begin(), in.begin() + n, 0));
  }
}

TEST_CASE("scans of blocks") {
  const std::vector<int> in = numbers(1000);
  std::vector<int> out(1000);
  const int* p = in.data();
  int* o = out.data();
  const int n = 1000;
  CHECK(module().launch("scan", {4}, {256}, {&p, &o, &n}).fault == "");
  for (int i = 0; i < n; ++i) REQUIRE(out[i] == std::accumulate(in.begin() + i / 256 * 256, in.begin() + i + 1, 0));
}

TEST_CASE("compaction by votes") {
  std::vector<int> in = numbers(2000);
  for (const std::uint32_t threads : {64U, 100U}) {
    std::vector<int> out(2000, -1), expected;
    int count = 0;
    const int* p = in.data();
    int *o = out.data(), *c = &count;
    const int n = 1900;
    CHECK(module().launch("compact", {2000 / threads + 1}, {threads}, {&p, &o, &c, &n}).fault == "");
    for (int i = 0; i < n; ++i) {
      if (in[i] % 2 != 0) expected.push_back(in[i]);
    }
    out.resize(static_cast<std::size_t>(count));
    std::sort(out.begin(), out.end());
    std::sort(expected.begin(), expected.end());
    CHECK(out == expected);
  }
}

TEST_CASE("lanes that are here") {
  for (const driver::Size block : {driver::Size{64}, driver::Size{100}, driver::Size{10, 5}, driver::Size{3, 4, 5}}) {
    const int threads = static_cast<int>(block.x * block.y * block.z);
    std::vector<int> out(static_cast<std::size_t>(threads), -1);
    int* o = out.data();
    CHECK(module().launch("who_is_here", {1}, block, {&o}).fault == "");
    if (block.y != 1) continue;  // its threads write to one row
    for (int t = 0; t < threads; ++t) {
      const auto among = [&](auto&& chosen) {
        unsigned mask = 0;
        for (int l = 0; l < 32; ++l) {
          if (t / 32 * 32 + l < threads && chosen(l)) mask |= 1U << l;
        }
        return mask;
      };
      const int lane = t % 32;
      unsigned seen = 0;
      if (lane % 3 == 0) {
        seen = among([](int l) { return l % 3 == 0; });
        if (lane > 10) seen ^= among([](int l) { return l % 3 == 0 && l > 10; }) << 1U;
      } else if (lane % 3 == 1) {
        seen = ~among([](int l) { return l % 3 == 1; });
      }
      for (int i = 0; i < lane % 5; ++i) seen = seen * 3 + std::popcount(among([=](int l) { return l % 5 > i; }));
      REQUIRE(out[t] == static_cast<int>(seen));
    }
  }
}

TEST_CASE("lanes that return early are not asked for") {
  const std::vector<int> in = numbers(128);
  for (const int n : {128, 96, 70, 2}) {
    std::vector<int> out(128, -5);
    const int* p = in.data();
    int* o = out.data();
    CHECK(module().launch("early_lanes", {1}, {128}, {&p, &o, &n}).fault == "");
    const auto value = [&](int t) { return t >= n ? -1 : in[t] + ((t ^ 1) < n ? in[t ^ 1] : 0); };
    for (int t = 0; t < 128; ++t) REQUIRE(out[t] == (t >= n ? -5 : value((t + 32) % 128) + value(t)));
  }
}

TEST_CASE("lanes that do not come are an error with its line") {
  for (const std::uint32_t threads : {64U, 50U}) {
    std::vector<int> out(64);
    int* o = out.data();
    const driver::Outcome barrier = module().launch("some_lanes_wait", {1}, {threads}, {&o});
    CHECK(barrier.fault.find("__syncthreads at ") == 0);
    CHECK(barrier.fault.find("warp.cu:") != std::string::npos);
    const driver::Outcome shuffle = module().launch("absent_lanes", {1}, {threads}, {&o});
    CHECK(shuffle.fault.find("__shfl_xor_sync at ") == 0);
    CHECK(shuffle.missing == (threads == 64 ? 0xffffff00U : 0x3ff00U));
  }
  std::vector<int> out(8);
  int* o = out.data();
  CHECK(module().launch("some_lanes_wait", {1}, {8}, {&o}).fault == "");
  CHECK(module().launch("absent_lanes", {1}, {8}, {&o}).fault == "");
  CHECK(out == std::vector<int>{1, 0, 3, 2, 5, 4, 7, 6});
}

TEST_CASE("shuffles from any lane") {
  const std::vector<int> in = [] {
    std::vector<int> v = numbers(97);
    for (int i = 0; i < 97; i += 7) v[i] = -v[i];
    return v;
  }();
  std::vector<long long> out(96);
  const int* p = in.data();
  long long* o = out.data();
  CHECK(module().launch("shuffles", {1}, {96}, {&p, &o}).fault == "");
  for (int t = 0; t < 96; ++t) {
    const int lane = t % 32, base = t - lane;
    const auto v = [&](int l) { return static_cast<long long>(in[base + l + 1]) * 0x100000001LL; };
    long long r = v(in[t] & 31);
    r ^= (lane % 8 + 3 < 8 ? v(lane + 3) : v(lane)) * 3;
    r ^= (lane % 16 >= 5 ? v(lane - 5) : v(lane)) * 5;
    r ^= v(lane ^ 9) * 7;
    if (lane < 16) r += v(lane / 2);
    for (int l = lane & 24; l < (lane & 24) + 8; ++l) r += static_cast<long long>(in[base + l] & 1) << l;
    REQUIRE(out[t] == r);
  }
}

TEST_CASE("volatile accesses of a warp are in step") {
  const std::vector<int> in = numbers(1024);
  std::vector<int> out(4);
  const int* p = in.data();
  int* o = out.data();
  CHECK(module().launch("last_warp", {4}, {256}, {&p, &o}).fault == "");
  for (int b = 0; b < 4; ++b) CHECK(out[b] == std::accumulate(in.begin() + 256 * b, in.begin() + 256 * b + 256, 0));
}

TEST_CASE("private arrays, divisions, switches and atomics under masks") {
  const std::vector<int> in = numbers(200);
  for (const std::uint32_t threads : {64U, 160U, 80U}) {
    std::vector<int> out(threads), bins(8), expected_bins(8), counts(8);
    const int* p = in.data();
    int *o = out.data(), *b = bins.data();
    CHECK(module().launch("odds_and_ends", {2}, {threads}, {&p, &o, &b}).fault == "");
    for (std::uint32_t t = 0; t < threads; ++t) ++counts[in[t] & 7];
    const auto r = [&](std::uint32_t t) {
      int v = in[t + in[t] % 6];
      if (in[t + 1] % 4 != 0) v += in[t] / (in[t + 1] % 4);
      switch (in[t] % 5) {
        case 0: return v * 3;
        case 1: return (v - 7) ^ 0x55;
        case 2: return v ^ 0x55;
        default: return -v;
      }
    };
    for (std::uint32_t t = 0; t < threads; ++t) REQUIRE(out[t] == r(t) + r(t ^ 1U) + counts[t & 7U]);
    for (int k = 0; k < 8; ++k) CHECK(bins[k] == 2 * counts[k]);
  }
}

TEST_CASE("lanes call different functions, and count in a loop that they leave one by one") {
  const std::vector<int> in = numbers(200);
  std::vector<int> out(64), bins(8), counts(8);
  const int* p = in.data();
  int *o = out.data(), *b = bins.data();
  const int n = 150;
  CHECK(module().launch("calls_and_counts", {1}, {64}, {&p, &o, &b, &n}).fault == "");
  for (int i = 0; i < n; ++i) ++counts[in[i] & 7];
  CHECK(bins == counts);
  const auto r = [&](unsigned t) {
    const int v = in[t + 1];
    return in[t] % 3 == 0 ? 2 * v : in[t] % 3 == 1 ? -v : v * v;
  };
  for (unsigned t = 0; t < 64; ++t) REQUIRE(out[t] == r(t) + r(t ^ 1U));
}

TEST_CASE("loops that lanes leave in several ways") {
  std::vector<int> start = numbers(3000, 5000);
  for (int& v : start) ++v;
  const auto steps_of = [&](int i) {
    int steps = 0;
    for (unsigned v = static_cast<unsigned>(start[i]); v != 1;) {
      if (v % 2 == 0) {
        v /= 2;
      } else {
        v = 3 * v + 1;
        if (steps > 90) break;
      }
      ++steps;
    }
    return steps;
  };
  for (const std::uint32_t threads : {128U, 72U}) {
    std::vector<int> out(3000, -1);
    const int* p = start.data();
    int* o = out.data();
    const int n = 2900;
    CHECK(module().launch("sequences", {8}, {threads}, {&p, &o, &n}).fault == "");
    for (int t = 0; t < 8 * static_cast<int>(threads) && 3 * t < n; ++t) {
      const int in_block = t % static_cast<int>(threads), first = t - in_block % 32;
      int votes = 0;
      for (int l = 0; l < 32 && in_block / 32 * 32 + l < static_cast<int>(threads); ++l)
        votes += 3 * (first + l) < n && steps_of(3 * (first + l)) > 20 ? 1 : 0;
      REQUIRE(out[3 * t] == steps_of(3 * t) + votes);
    }
  }
}

}  // namespace
