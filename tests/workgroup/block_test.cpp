// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/workgroup/driver.hpp"

// Tests kernels with barriers for the whole block.

namespace {

using driver::Outcome;

const driver::Module& module() {
  static const driver::Module loaded((std::string(std::getenv("WEIR_TEST_FOLDER")) + "/block.so").c_str());
  return loaded;
}

std::vector<int> numbers(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  unsigned state = 12345;
  for (int& value : values) value = static_cast<int>((state = state * 1664525U + 1013904223U) >> 16U) % 1000;
  return values;
}

TEST_CASE("a loop over the elements") {
  std::vector<float> x(1000), y(1000);
  std::iota(x.begin(), x.end(), 0.0F);
  std::iota(y.begin(), y.end(), 7.0F);
  const float a = 2;
  const float* px = x.data();
  float* py = y.data();
  const int n = 999;
  CHECK(module().launch("saxpy", {8}, {128}, {&a, &px, &py, &n}).fault == "");
  for (int i = 0; i < n; ++i) REQUIRE(y[i] == 3.0F * static_cast<float>(i) + 7);
  CHECK(y[999] == 1006);
}

TEST_CASE("a barrier in a loop") {
  const std::vector<int> in = numbers(1000);
  std::vector<int> out(4);
  const int* p = in.data();
  int* o = out.data();
  const int n = 1000;
  CHECK(module().launch("reduce", {4}, {256}, {&p, &o, &n}, 1024).fault == "");
  for (int b = 0; b < 4; ++b)
    CHECK(out[b] == std::accumulate(in.begin() + 256 * b, in.begin() + std::min(1000, 256 * b + 256), 0));
}

TEST_CASE("values kept across the barriers of a loop") {
  constexpr int n = 64;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5);
  const float *pa = a.data(), *pb = b.data();
  float* pc = c.data();
  CHECK(module().launch("tiled_product", {n / 16, n / 16}, {16, 16}, {&pa, &pb, &pc, &n}).fault == "");
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      REQUIRE(c[i * n + j] == sum);
    }
  }
}

TEST_CASE("threads that have returned are not waited for") {
  const std::vector<int> in = numbers(256);
  for (const int n : {1, 31, 100, 256}) {
    std::vector<int> out(256, -1);
    const int* p = in.data();
    int* o = out.data();
    CHECK(module().launch("early_return", {1}, {256}, {&p, &o, &n}).fault == "");
    for (int t = 0; t < 256; ++t) {
      const int v = t < n ? in[n - 1 - t] : 0;
      REQUIRE(out[t] == (v % 2 == 0 ? -1 : v + t));
    }
  }
}

TEST_CASE("threads that wait at different barriers are an error with both lines") {
  std::vector<int> out(64);
  int* o = out.data();
  int limit = 20;
  const Outcome outcome = module().launch("divergent", {1}, {64}, {&o, &limit});
  CHECK(outcome.fault.find("block.cu:") != std::string::npos);
  CHECK(outcome.fault.find("__syncthreads at ") == 0);
  CHECK(outcome.fault.find("others in __syncthreads at ") != std::string::npos);
  const std::string first = outcome.fault.substr(0, outcome.fault.find(',')),
                    last = outcome.fault.substr(outcome.fault.rfind("__syn"));
  CHECK(first != last);
  CHECK(outcome.here == 20);
  CHECK(outcome.expected == 64);
  for (const int uniform : {0, 64}) {
    limit = uniform;
    CHECK(module().launch("divergent", {1}, {64}, {&o, &limit}).fault == "");
    for (const int v : out) REQUIRE(v == (uniform == 0 ? 12 : 11));
  }
}

TEST_CASE("barriers in branches, a switch, and called functions") {
  for (const int which : {0, 1, 2, 3}) {
    std::vector<int> out(200);
    int* o = out.data();
    CHECK(module().launch("choices", {2}, {100}, {&o, &which}).fault == "");
    for (int t = 0; t < 200; ++t) {
      const auto shifted = [](auto of, int by) { return [=](int i) { return of((i + by) % 100); }; };
      const auto self = [](int i) { return i; };
      const auto one = shifted(self, 1);
      const auto two = shifted([=](int i) { return 2 * i; }, 3);
      const auto three = shifted([=](int i) { return 2 * shifted(self, 2)(i); }, 3);
      const int i = t % 100;
      const int expected = which == 0   ? shifted(one, 5)(i)
                           : which == 1 ? three(i) + 1000
                           : which == 2 ? shifted(two, 5)(i)
                                        : shifted([](int k) { return -k; }, 5)(i);
      REQUIRE(out[t] == expected);
    }
  }
}

TEST_CASE("private arrays live across barriers") {
  const std::vector<int> in = numbers(512);
  std::vector<int> out(128);
  const int* p = in.data();
  int* o = out.data();
  const int n = 500;
  CHECK(module().launch("private_array", {1}, {128}, {&p, &o, &n}).fault == "");
  const auto element = [&](int t, int i) { return in[(t * 8 + i) % n]; };
  const auto chosen = [&](int t) { return element(t, in[t] % 8); };
  for (int t = 0; t < 128; ++t) {
    int sum = 0;
    for (int i = 0; i < 8; ++i) {
      sum = static_cast<int>(static_cast<unsigned>(sum) * 31U) + element(t, i);
      if (i == in[t] % 8) sum += chosen((t + 1) % 128);
    }
    REQUIRE(out[t] == sum);
  }
}

TEST_CASE("a loop that ends by a shared value") {
  std::vector<int> data = numbers(256), sorted = data;
  int* p = data.data();
  CHECK(module().launch("until_sorted", {4}, {64}, {&p}).fault == "");
  for (int b = 0; b < 4; ++b) std::sort(sorted.begin() + 64 * b, sorted.begin() + 64 * b + 64);
  CHECK(data == sorted);
}

TEST_CASE("atomic accesses of shared memory lose nothing") {
  const std::vector<int> in = numbers(10000);
  std::vector<int> bins(16), expected(16);
  for (const int v : in) ++expected[v & 15];
  const int* p = in.data();
  int* b = bins.data();
  const int n = 10000;
  CHECK(module().launch("histogram", {5}, {128}, {&p, &b, &n}).fault == "");
  CHECK(bins == expected);
}

TEST_CASE("loops that each thread leaves on its own") {
  std::vector<int> out(1000);
  int* o = out.data();
  const int n = 1000;
  CHECK(module().launch("collatz", {8}, {128}, {&o, &n}).fault == "");
  std::vector<int> steps(1025);
  for (int i = 1; i <= 1024; ++i) {
    for (unsigned v = static_cast<unsigned>(i); v != 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1) ++steps[i];
  }
  for (int i = 0; i < 1000; ++i) {
    const auto block = steps.begin() + 1 + i / 128 * 128;
    REQUIRE(out[i] == steps[i + 1] * 1000 + *std::max_element(block, block + 128));
  }
}

TEST_CASE("barriers that count") {
  const std::vector<int> in = numbers(100);
  std::vector<int> out(100), expected = in;
  const int* p = in.data();
  int* o = out.data();
  CHECK(module().launch("counted", {1}, {100}, {&p, &o}).fault == "");
  for (int i = 0; i < 4; ++i) {
    const auto odd = std::count_if(expected.begin(), expected.end(), [](int v) { return (v & 1) != 0; });
    for (int t = 0; t < 100; ++t) expected[t] += static_cast<int>(odd) + t;
  }
  CHECK(out == expected);
}

TEST_CASE("a thread's own accesses by several pointers stay in order") {
  std::vector<int> numbers_(2000, 2), expected;
  int* p = numbers_.data();
  const int n = 1000;
  CHECK(module().launch("pairs", {8}, {128}, {&p, &p, &p, &n}).fault == "");
  for (int i = 0; i < n; ++i) expected.insert(expected.end(), {3, 11});
  CHECK(numbers_ == expected);
}

TEST_CASE("three dimensions of blocks and threads") {
  std::vector<int> out(2 * 3 * 4 * 64);
  int* o = out.data();
  CHECK(module().launch("cube", {2, 3, 4}, {4, 4, 4}, {&o}).fault == "");
  for (int b = 0; b < 24; ++b) {
    for (int t = 0; t < 64; ++t) {
      const int x = t % 4, y = t / 4 % 4, z = t / 16;
      REQUIRE(out[b * 64 + t] == y + 10 * z + 100 * x + 1000 * (b % 2 + 10 * (b / 2 % 3) + 100 * (b / 6)));
    }
  }
}

TEST_CASE("elements that lie apart") {
  const std::vector<int> in = numbers(1000);
  const int* p = in.data();
  const auto hash_from = [&](unsigned hash, int begin, int n, int step) {
    for (int i = begin; i < n; i += step) hash = hash * 31 + static_cast<unsigned>(in[i]);
    return hash;
  };
  for (const unsigned threads : {1U, 50U, 256U}) {
    for (const int n : {-5, 0, 1, 49, 151, 1000}) {
      CAPTURE(threads);
      CAPTURE(n);
      const int all = static_cast<int>(3 * threads);
      std::vector<unsigned> hashes(3 * threads);
      unsigned* h = hashes.data();
      CHECK(module().launch("strided", {3}, {threads}, {&p, &h, &n}).fault == "");
      for (int t = 0; t < all; ++t) {
        const int in_block = t % static_cast<int>(threads);
        const unsigned expected =
            hash_from(hash_from(1, t, n, all), in_block, n, static_cast<int>(threads)) + hash_from(1, t - in_block, n, all);
        REQUIRE(hashes[t] == expected);
      }
    }
  }
}

TEST_CASE("indices that wrap") {
  struct Range {
    unsigned first, n, step;
  };
  for (const Range range :
       {Range{0, 200, 50}, {0x10000000, 0xc0000000, 0x50000000}, {0xfffffff0, 0xc0000000, 0x50000000}, {7, 7, 0}}) {
    CAPTURE(range.first);
    std::vector<unsigned> turns(128), expected(128);
    for (unsigned t = 0; t < 50; ++t) {
      for (unsigned i = range.first + t; i < range.n; i += range.step) ++expected[t], expected[t + 64] = i;
    }
    unsigned* o = turns.data();
    CHECK(module().launch("wrapping", {1}, {50}, {&o, &range.first, &range.n, &range.step}).fault == "");
    CHECK(turns == expected);
  }
}

TEST_CASE("blocks of several rows whose threads have loops of their own") {
  constexpr int width = 45, height = 37;
  std::vector<float> in(width * height);
  for (int i = 0; i < width * height; ++i) in[i] = static_cast<float>(i * 7 % 31);
  const float* p = in.data();
  for (const auto& [across, down] : {std::pair(16U, 4U), std::pair(10U, 3U), std::pair(48U, 1U), std::pair(1U, 5U)}) {
    CAPTURE(across);
    std::vector<float> out(width * down), expected(width * down);
    for (unsigned row = 0; row < down; ++row) {
      for (int x = 0; x < width; ++x) {
        float sum = 0, least = in[x];
        for (int y = static_cast<int>(row); y < height; y += static_cast<int>(down)) {
          sum += in[y * width + x];
          least = std::min(least, in[y * width + x]);
        }
        expected[row * width + x] = sum + least;
      }
    }
    float* o = out.data();
    CHECK(module().launch("column_sums", {(width + across - 1) / across}, {across, down}, {&p, &o, &width, &height}).fault ==
          "");
    CHECK(out == expected);
  }
}

}  // namespace
