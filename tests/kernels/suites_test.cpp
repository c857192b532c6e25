// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tests/kernels/corpus.hpp"

/// Tests further kernels in the style of Rodinia and SHOC, and hand-written synchronization in blocks.
namespace weir::test::suites_test {
namespace {

const ModulePtr& module() { return corpus("suites"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("suites: a step of an LU decomposition: the perimeter and what lies inside") {
  constexpr std::size_t n = 48, b = 16;
  auto m = random_floats(n * n, 1);
  for (std::size_t i = 0; i < n; ++i) m[i * n + i] += 20;
  const auto device_m = upload(m);
  std::vector<double> a(m.begin(), m.end());
  for (std::size_t k = 0; k < b; ++k) {  // the block on the diagonal, as the first kernel would leave it
    for (std::size_t i = k + 1; i < b; ++i) {
      a[i * n + k] /= a[k * n + k];
      for (std::size_t j = k + 1; j < b; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
  }
  for (std::size_t i = 0; i < b; ++i) {
    for (std::size_t j = 0; j < b; ++j) device_m.data()[i * n + j] = static_cast<float>(a[i * n + j]);
  }
  launch(module()->untyped_kernel("lud_perimeter"), {.grid = {2}, .block = {32}}, device_m, static_cast<int>(n), 0);
  launch(module()->untyped_kernel("lud_internal"), {.grid = {2, 2}, .block = {16, 16}}, device_m, static_cast<int>(n), 0);
  for (std::size_t k = 0; k < b; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      if (i >= b) a[i * n + k] /= a[k * n + k];
      for (std::size_t j = i < b ? b : k + 1; j < n; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
  }
  CHECK(difference(download(device_m), a) < 1e-5);
}

struct Node {
  int location;
  int indices[33];
  int keys[33];
  bool is_leaf;
  int num_keys;
};

TEST_CASE("suites: keys found in a tree, level by level") {
  // The root has 32 leaves of 32 keys each, 3 apart.
  std::vector<Node> nodes(33);
  std::vector<int> records;
  for (int k = 0; k < 33; ++k) {
    nodes[0].keys[k] = k == 32 ? 1 << 30 : k * 96;
    nodes[0].indices[k] = k < 32 ? k + 1 : 1000;
    for (std::size_t leaf = 1; leaf < 33; ++leaf) {
      nodes[leaf].keys[k] = k == 32 ? 1 << 30 : static_cast<int>(leaf - 1) * 96 + 3 * k;
      nodes[leaf].indices[k] = k == 32 ? 0 : static_cast<int>(leaf - 1) * 32 + k;
    }
  }
  for (int i = 0; i < 1024; ++i) records.push_back(7 * i + 1);
  const auto keys = random_ints(40, 2, 0, 32 * 96 - 1);
  const std::vector<std::int64_t> zeros(40);
  const auto answers = upload(std::vector<int>(40, -1));
  launch(module()->untyped_kernel("findK"), {.grid = {40}, .block = {32}}, 1L, upload(nodes), 33L, upload(records),
         upload(zeros), upload(zeros), upload(keys), answers);
  for (std::size_t i = 0; i < 40; ++i)
    CHECK(answers.data()[i] == (keys[i] % 3 == 0 ? records[static_cast<std::size_t>(keys[i] / 3)] : -1));
}

TEST_CASE("suites: a sum whose last warp runs in step, for float and double") {
  const auto in = random_floats(4096, 12);
  std::vector<double> expected(4);
  for (std::size_t i = 0; i < 4096; ++i) expected[i / 512 % 4] += static_cast<double>(in[i]);
  const auto sums = upload(std::vector<float>(4));
  launch(module()->untyped_kernel("shoc_reduce<float, 256>"), {.grid = {4}, .block = {256}, .shared_memory_bytes = 1024},
         upload(in), sums, 4096U);
  CHECK(difference(download(sums), expected) < 1e-5);
  const auto doubles = upload(std::vector<double>(4));
  launch(module()->untyped_kernel("shoc_reduce<double, 128>"), {.grid = {4}, .block = {128}, .shared_memory_bytes = 1024},
         upload(std::vector<double>(in.begin(), in.end())), doubles, 4096U);
  double total = 0, whole = 0;
  for (std::size_t b = 0; b < 4; ++b) total += doubles.data()[b], whole += expected[b];
  CHECK(std::fabs(total - whole) < 1e-10);
}

TEST_CASE("suites: atomics made of others, and a lock") {
  constexpr int n = 1000;
  const auto x = random_floats(n, 14);
  const auto greatest = upload(std::vector<float>{-3.0F});
  const auto product = upload(std::vector<double>{1.0});
  launch(module()->untyped_kernel("atomics_by_hand"), {.grid = {8}, .block = {128}}, upload(x), n, greatest, product);
  double expected = 1;
  float most = -3, sum_of_blocks = 0;
  for (std::size_t b = 0; b < 8; ++b) {
    float best = -2;
    for (std::size_t i = b * 128; i < std::min<std::size_t>(b * 128 + 128, n); ++i) {
      best = std::max(best, x[i]);
      expected *= 1.0 + static_cast<double>(x[i] * 1e-3F);
    }
    most = std::max(most, best);
    sum_of_blocks += best;
  }
  CHECK(greatest.data()[0] == most);
  CHECK(std::fabs(product.data()[0] / expected - 1) < 1e-6);
  std::vector<float> locked(2);
  const auto stream = target().create_stream();
  stream->copy(Span<float>(locked),
               Span<const float>(reinterpret_cast<const float*>(module()->global("d_locked_sum").data()), 2));
  stream->synchronize();
  CHECK(locked[0] == 8);
  CHECK(std::fabs(locked[1] - sum_of_blocks) < 1e-5);
}

struct Item {
  int kind;
  float a, b;
};

TEST_CASE("suites: a queue that a block drains, of unions told apart by a switch") {
  constexpr int n = 1000;
  const auto kinds = random_ints(n, 15, 0, 2);
  const auto a = random_floats(n, 16, 0, 2), b = random_floats(n, 17, 0, 2);
  std::vector<Item> items;
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) {
    items.push_back({kinds[i], a[i], b[i]});
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    expected += kinds[i] == 0 ? 3.14159265 * x * x : kinds[i] == 1 ? x * y : 0.5 * x * y;
  }
  const auto total = upload(std::vector<float>(1));
  const auto ticks = upload(std::vector<long long>(1, -1));
  launch(module()->untyped_kernel("drain"), {.grid = {1}, .block = {128}}, upload(items), n, total, ticks);
  CHECK(std::fabs(static_cast<double>(total.data()[0]) / expected - 1) < 1e-5);
  CHECK(ticks.data()[0] >= 0);
}

TEST_CASE("suites: unions, structures and enumerations that a kernel declares with a variable") {
  const auto in = random_floats(64, 18);
  const auto out = upload(std::vector<float>(64));
  launch(module()->untyped_kernel("local_classes"), {.grid = {1}, .block = {64}}, upload(in), out);
  std::vector<double> expected(64);
  for (std::size_t t = 0; t < 64; ++t) {
    const auto of = [&](std::size_t i) { return static_cast<double>(in[i]); };
    // Some of the other thread's bits go through memory as a number of the other type.
    expected[t] = 2 + of(63 - t) + of((t + 1) % 64) + static_cast<double>(t) + 2 + of(t) + static_cast<double>(t) + 3 + 5 +
                  7 + 2 + 2 - 1;
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::suites_test
