// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <numeric>
#include <string>

#include "tests/kernels/corpus.hpp"

/// Tests kernels like those in real programs.
namespace weir::test::field_test {
namespace {

const ModulePtr& module() { return corpus("field"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("field: attention with a running softmax") {
  constexpr std::size_t n = 53, d = 16;
  const auto q = random_floats(n * d, 1), k = random_floats(n * d, 2), v = random_floats(n * d, 3);
  const auto out = upload(std::vector<float>(n * d));
  LaunchConfig config{2, 32};
  config.shared_memory_bytes = (2 * 8 * d + 32 * 8) * sizeof(float);
  launch(module()->untyped_kernel("attention<16, 8>"), config, upload(q), upload(k), upload(v), out, static_cast<int>(n),
         0.25F);
  std::vector<double> expected(n * d);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> p(n);
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < d; ++c) p[j] += 0.25 * static_cast<double>(q[i * d + c]) * k[j * d + c];
      sum += p[j] = std::exp(p[j]);
    }
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t c = 0; c < d; ++c) expected[i * d + c] += p[j] / sum * v[j * d + c];
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("field: a convolution with a halo and a filter in constant memory") {
  constexpr int width = 45, height = 37;
  const auto in = random_floats(width * height, 4);
  const auto out = upload(std::vector<float>(width * height));
  launch(module()->untyped_kernel("convolve"), {{3, 3}, {20, 20}}, upload(in), out, width, height);
  constexpr std::array<double, 5> weights = {1, 4, 6, 4, 1};
  std::vector<double> expected(width * height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int i = -2; i <= 2; ++i)
        for (int j = -2; j <= 2; ++j)
          if (y + i >= 0 && y + i < height && x + j >= 0 && x + j < width)
            expected[static_cast<std::size_t>(y * width + x)] += weights[static_cast<std::size_t>(i + 2)] *
                                                                 weights[static_cast<std::size_t>(j + 2)] / 256 *
                                                                 in[static_cast<std::size_t>((y + i) * width + x + j)];
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("field: a product of which each thread computes four by four") {
  constexpr std::size_t m = 64, n = 96, k = 40;
  const auto a = random_floats(m * k, 5), b = random_floats(k * n, 6), c = random_floats(m * n, 7);
  const auto out = upload(c);
  launch(module()->untyped_kernel("gemm<32, 32, 8, 4, 4>"), {{3, 2}, 64}, static_cast<int>(m), static_cast<int>(n),
         static_cast<int>(k), 2.0F, upload(a), upload(b), 0.5F, out);
  std::vector<double> expected(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<double>(a[i * k + l]) * b[l * n + j];
      expected[i * n + j] = 2 * sum + 0.5 * c[i * n + j];
    }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("field: the greatest by packed atomics, a sum by compare and swap") {
  auto x = random_floats(3000, 10);
  x[1234] = x[2345] = 2;
  const auto best = upload(std::vector<std::uint64_t>(1));
  const auto sum = upload(std::vector<double>(1));
  launch(module()->untyped_kernel("argmax_packed"), {4, 96}, upload(x), 3000, best, sum);
  CHECK(static_cast<std::int32_t>(~static_cast<std::uint32_t>(best.data()[0])) == 1234);
  CHECK(sum.data()[0] == doctest::Approx(std::accumulate(x.begin(), x.end(), 0.0)).epsilon(1e-12));
}

TEST_CASE("field: rows of a sparse matrix by parts of a warp") {
  constexpr int rows = 70;
  std::vector<int> ptr = {0}, col;
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < r % 23; ++j) col.push_back((r * 7 + j * 5) % rows);
    ptr.push_back(static_cast<int>(col.size()));
  }
  const auto val = random_floats(col.size(), 11), x = random_floats(rows, 12);
  const auto y = upload(std::vector<float>(rows));
  launch(module()->untyped_kernel("spmv_vector<8>"), {9, 64}, rows, upload(ptr), upload(col), upload(val), upload(x), y);
  std::vector<double> expected(rows);
  for (std::size_t r = 0; r < rows; ++r)
    for (auto j = static_cast<std::size_t>(ptr[r]); j < static_cast<std::size_t>(ptr[r + 1]); ++j)
      expected[r] += static_cast<double>(val[j]) * x[static_cast<std::size_t>(col[j])];
  CHECK(difference(download(y), expected) < 1e-5);
}

TEST_CASE("field: the distance of two words along a wavefront") {
  const std::string a = "the quick brown fox jumps over the lazy dog", b = "a quiet brown ox jumped over that lazy log now";
  const auto n = a.size(), m = b.size();
  std::vector<std::vector<int>> d(n + 1, std::vector<int>(m + 1));
  for (std::size_t i = 0; i <= n; ++i)
    for (std::size_t j = 0; j <= m; ++j)
      d[i][j] = i == 0 || j == 0
                    ? static_cast<int>(i + j)
                    : std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
  const auto result = upload(std::vector<int>(1));
  LaunchConfig config{1, 64};
  config.shared_memory_bytes = 3 * (n + 1) * sizeof(int) + n;
  launch(module()->untyped_kernel("edit_distance"), config, upload(std::vector<char>(a.begin(), a.end())),
         static_cast<int>(n), upload(std::vector<char>(b.begin(), b.end())), static_cast<int>(m), result);
  CHECK(result.data()[0] == d[n][m]);
}

TEST_CASE("field: a Cholesky factor for each block") {
  constexpr std::size_t n = 24;
  std::vector<float> lower(2 * n * n), product(2 * n * n);
  const auto random = random_floats(2 * n * n, 15);
  for (std::size_t i = 0; i < 2 * n * n; ++i) {
    const std::size_t r = i / n % n, c = i % n;
    lower[i] = c > r ? 0 : c == r ? 4 + random[i] : random[i];
  }
  for (std::size_t i = 0; i < 2 * n * n; ++i) {
    const std::size_t at = i / (n * n) * n * n, r = i / n % n, c = i % n;
    for (std::size_t k = 0; k < n; ++k) product[i] += lower[at + r * n + k] * lower[at + c * n + k];
  }
  const auto out = upload(product);
  LaunchConfig config{2, 32};
  config.shared_memory_bytes = n * n * sizeof(float);
  launch(module()->untyped_kernel("cholesky"), config, out, static_cast<int>(n));
  CHECK(difference(download(out), lower) < 1e-4);
}

TEST_CASE("field: blocks that take work from a queue") {
  std::vector<int> lengths = random_ints(50, 16, 0, 300), expected;
  for (const int length : lengths) expected.push_back(length * (length - 1) / 2);
  const auto head = upload(std::vector<unsigned>(1));
  const auto out = upload(std::vector<int>(50, -1));
  launch(module()->untyped_kernel("work_queue"), {4, 64}, head, upload(lengths), 50, out);
  CHECK(download(out) == expected);
  CHECK(head.data()[0] == 54);
}

TEST_CASE("field: shortest paths until nothing changes") {
  constexpr int nodes = 90, edges = 400, far = 0x7fffffff;
  const auto from = random_ints(edges, 17, 0, nodes - 1), to = random_ints(edges, 18, 0, nodes - 1),
             weight = random_ints(edges, 19, 1, 50);
  std::vector<int> distance(nodes + 1, far), expected(nodes, far);
  distance[0] = expected[0] = 0;
  for (int turn = 0; turn < nodes; ++turn)
    for (std::size_t e = 0; e < edges; ++e) {
      const int reached = expected[static_cast<std::size_t>(from[e])];
      int& there = expected[static_cast<std::size_t>(to[e])];
      if (reached != far) there = std::min(there, reached + weight[e]);
    }
  expected.push_back(1);
  const auto out = upload(distance);
  launch(module()->untyped_kernel("relax"), {1, 128}, upload(from), upload(to), upload(weight), edges, out, nodes);
  CHECK(download(out) == expected);
}

TEST_CASE("field: all shortest paths by tiles") {
  constexpr std::size_t n = 32;
  auto w = random_ints(n * n, 21, 1, 1000);
  for (std::size_t i = 0; i < n; ++i) w[i * n + i] = 0;
  const auto out = upload(w);
  launch(module()->untyped_kernel("floyd_warshall"), {1, {8, 8}}, out, static_cast<int>(n));
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) w[i * n + j] = std::min(w[i * n + j], w[i * n + k] + w[k * n + j]);
  CHECK(download(out) == w);
}

TEST_CASE("field: the smallest by lists in registers and a tournament") {
  auto in = random_ints(1000, 22, 0, 100000);
  const auto out = upload(std::vector<int>(4));
  launch(module()->untyped_kernel("smallest_k<4>"), {1, 128}, upload(in), 1000, out);
  std::sort(in.begin(), in.end());
  CHECK(download(out) == std::vector<int>(in.begin(), in.begin() + 4));
}

TEST_CASE("field: half precision by pairs, with a tail") {
  // 2^e with a few fractions: exact in half precision.
  constexpr std::array<std::uint16_t, 5> bits = {0x3C00, 0x3E00, 0xBC00, 0x4000, 0x3800};
  constexpr std::array<double, 5> values = {1, 1.5, -1, 2, 0.5};
  constexpr std::size_t n = 61;
  std::vector<std::uint16_t> gate, up;
  for (std::size_t i = 0; i < n; ++i) {
    gate.push_back(bits[i % 5]);
    up.push_back(bits[i * 3 % 5]);
  }
  const auto out = upload(std::vector<std::uint16_t>(n));
  launch(module()->untyped_kernel("swiglu_half"), {1, 32}, upload(gate), upload(up), out, static_cast<int>(n));
  std::vector<double> given, expected;
  for (std::size_t i = 0; i < n; ++i) {
    given.push_back(of_half(out.data()[i]));
    expected.push_back(values[i % 5] / (1 + std::exp(-values[i % 5])) * values[i * 3 % 5]);
  }
  CHECK(difference(given, expected) < 1e-3);
}

TEST_CASE("field: labels of a picture's parts") {
  constexpr int width = 40, height = 25, n = width * height;
  const auto random = random_ints(n, 28, 0, 1);
  const std::vector<unsigned char> image(random.begin(), random.end());
  const auto labels = upload(std::vector<int>(n));
  const auto picture = upload(image);
  launch(module()->untyped_kernel("label_init"), {4, 64}, labels, n);
  launch(module()->untyped_kernel("label_unite"), {{5, 4}, {8, 8}}, picture, labels, width, height);
  launch(module()->untyped_kernel("label_flatten"), {4, 64}, labels, n);
  std::vector<int> expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < n; ++i)
      for (const int next : {i % width == 0 ? i : i - 1, i < width ? i : i - width}) {
        int &a = expected[static_cast<std::size_t>(i)], &b = expected[static_cast<std::size_t>(next)];
        if (image[static_cast<std::size_t>(i)] != image[static_cast<std::size_t>(next)] || a == b) continue;
        a = b = std::min(a, b);
        changed = true;
      }
  }
  CHECK(download(labels) == expected);
}

TEST_CASE("field: sums over segments that a search finds") {
  const auto lengths = random_ints(60, 30, 0, 40);
  std::vector<int> ends(60);
  std::partial_sum(lengths.begin(), lengths.end(), ends.begin());
  const auto n = static_cast<std::size_t>(ends.back());
  const auto values = random_floats(n, 31);
  const auto sums = upload(std::vector<float>(60));
  launch(module()->untyped_kernel("segment_sums"), {static_cast<unsigned>((n + 255) / 256), 256}, upload(values),
         upload(ends), 60, static_cast<int>(n), sums);
  std::vector<double> expected(60);
  for (std::size_t s = 0, i = 0; s < 60; ++s)
    for (; i < static_cast<std::size_t>(ends[s]); ++i) expected[s] += values[i];
  CHECK(difference(download(sums), expected) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::field_test
