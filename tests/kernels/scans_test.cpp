// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/corpus.hpp"

/// Tests prefix sums and algorithms that use them: compaction, a pass of a radix sort.
namespace weir::test::scans_test {
namespace {

const ModulePtr& module() { return corpus("scans"); }

std::vector<int> prefix_by_blocks(const std::vector<int>& in, std::size_t block, bool inclusive) {
  std::vector<int> out(in.size());
  for (std::size_t b = 0; b < in.size(); b += block) {
    const std::size_t end = std::min(b + block, in.size());
    int sum = 0;
    for (std::size_t i = b; i < end; ++i) {
      if (!inclusive) out[i] = sum;
      sum += in[i];
      if (inclusive) out[i] = sum;
    }
  }
  return out;
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("scans of Hillis and Steele, and of Blelloch") {
  for (const unsigned n : {1U, 64U, 256U}) {
    const auto in = random_ints(4 * n, n, -100, 100);
    const auto out = upload(std::vector<int>(in.size()));
    launch(module()->untyped_kernel("scan_hillis_steele"), {.grid = {4}, .block = {n}, .shared_memory_bytes = 2 * n * 4U},
           upload(in), out, static_cast<int>(n));
    CHECK(download(out) == prefix_by_blocks(in, n, false));
  }
  const auto floats = random_floats(512, 3);
  const auto out = upload(std::vector<float>(512));
  launch(module()->untyped_kernel("scan_blelloch"), {.grid = {1}, .block = {256}, .shared_memory_bytes = 600 * 4U},
         upload(floats), out, 512);
  std::vector<double> expected(512);
  std::exclusive_scan(floats.begin(), floats.end(), expected.begin(), 0.0);
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("scans by warps") {
  const auto in = random_ints(2048, 4, -1000, 1000);
  const auto out = upload(std::vector<int>(in.size()));
  for (const unsigned block : {64U, 512U, 1024U}) {
    launch(module()->untyped_kernel("scan_by_warps"), {.grid = {2048 / block}, .block = {block}}, upload(in), out);
    CHECK(download(out) == prefix_by_blocks(in, block, true));
  }
}

TEST_CASE("stream compaction") {
  const auto in = random_floats(1000, 5);
  const auto out = upload(std::vector<float>(1000));
  const auto count = upload(std::vector<int>(1));
  launch(module()->untyped_kernel("compact"), {.grid = {8}, .block = {128}}, upload(in), out, count, 1000);
  std::vector<float> kept(out.data(), out.data() + count.data()[0]), expected;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [](float v) { return v > 0; });
  std::sort(kept.begin(), kept.end());
  std::sort(expected.begin(), expected.end());
  CHECK(kept == expected);
}

TEST_CASE("a radix sort") {
  const auto numbers = random_ints(256, 6, 0, 0x7FFFFFFF);
  auto a = upload(std::vector<unsigned>(numbers.begin(), numbers.end()));
  auto b = upload(std::vector<unsigned>(256));
  for (int shift = 0; shift < 32; shift += 4) {
    launch(module()->untyped_kernel("radix_pass"), {.grid = {1}, .block = {256}}, a, b, shift);
    std::swap(a, b);
  }
  std::vector<unsigned> expected(numbers.begin(), numbers.end());
  std::sort(expected.begin(), expected.end());
  CHECK(download(a) == expected);
}

TEST_CASE("a scan that some threads left before") {
  for (const int n : {1, 100, 128, 129, 200, 384}) {
    const auto in = random_ints(static_cast<std::size_t>(n), 7, -9, 9);
    const auto out = upload(std::vector<int>(in.size()));
    launch(module()->untyped_kernel("prefix_with_early_return"), {.grid = {3}, .block = {128}}, upload(in), out, n);
    CHECK(download(out) == prefix_by_blocks(in, 128, true));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::scans_test
