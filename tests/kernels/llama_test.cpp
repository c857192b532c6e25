// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests kernels in the style of llama.cpp and PyTorch, for warps of 32.
namespace weir::test::llama_test {
namespace {

const ModulePtr& llama() { return corpus("narrow_llama"); }
const ModulePtr& torch() { return corpus("narrow_pytorch"); }

TEST_CASE("llama: norms of rows") {
  constexpr std::size_t rows = 6, columns = 500;
  const auto x = random_floats(rows * columns, 1, -3, 4);
  std::vector<double> rms;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) squares += at(x, r * columns + c) * at(x, r * columns + c);
    for (std::size_t c = 0; c < columns; ++c) rms.push_back(at(x, r * columns + c) / std::sqrt(squares / columns + 1e-5));
  }
  const auto in = upload(x), out = upload(std::vector<float>(x.size()));
  const int n = columns;
  launch(llama()->untyped_kernel("rms_norm_f32_256"), {.grid = {rows}, .block = {256}}, in, out, n, 1e-5F);
  CHECK(difference(download(out), rms) < 1e-5);
  launch(llama()->untyped_kernel("rms_norm_f32_32"), {.grid = {rows / 2}, .block = {32, 2}}, in, out, n, 1e-5F);
  CHECK(difference(download(out), rms) < 1e-5);
}

TEST_CASE("llama: rotated positions, gelu and silu") {
  constexpr std::size_t rows = 4, columns = 64;
  const auto x = random_floats(rows * columns, 2);
  std::vector<std::int32_t> position{0, 3, 17, 100};
  const auto out = upload(std::vector<float>(x.size()));
  launch(llama()->untyped_kernel("rope_neox"), {.grid = {rows, 1}, .block = {1, 64}}, upload(x), out,
         static_cast<int>(columns), upload(position), 1.0F, 0.75F);
  std::vector<double> expected(x.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < columns / 2; ++k) {
      const double theta = position[r] * std::pow(0.75, static_cast<double>(k));
      const double a = at(x, r * columns + k), b = at(x, r * columns + k + columns / 2);
      expected[r * columns + k] = a * std::cos(theta) - b * std::sin(theta);
      expected[r * columns + k + columns / 2] = a * std::sin(theta) + b * std::cos(theta);
    }
  }
  CHECK(difference(download(out), expected) < 1e-4);
  const auto values = random_floats(1000, 3, -6, 6);
  const auto y = upload(std::vector<float>(1000));
  launch(llama()->untyped_kernel("gelu_f32"), {.grid = {4}, .block = {256}}, upload(values), y, 1000);
  std::vector<double> gelu, silu;
  for (std::size_t i = 0; i < 1000; ++i) {
    const double v = at(values, i);
    gelu.push_back(0.5 * v * (1 + std::tanh(0.79788456080286535588 * v * (1 + 0.044715 * v * v))));
    silu.push_back(v / (1 + std::exp(-v)));
  }
  CHECK(difference(download(y), gelu) < 1e-5);
  launch(llama()->untyped_kernel("silu_f32"), {.grid = {4}, .block = {256}}, upload(values), y, 1000);
  CHECK(difference(download(y), silu) < 1e-5);
}

TEST_CASE("llama: quantized weights times a quantized vector") {
  constexpr std::size_t rows = 10, columns = 1024, blocks = columns / 32;
  const auto x = random_floats(columns, 4, -2, 2);
  struct Quantized {
    std::uint16_t d;
    std::int8_t q[32];
  };
  struct Weights {
    std::uint16_t d;
    std::uint8_t q[16];
  };
  static_assert(sizeof(Quantized) == 34 && sizeof(Weights) == 18);
  const auto y = upload(std::vector<Quantized>(blocks));
  launch(llama()->untyped_kernel("quantize_q8_0"), {.grid = {columns / 128}, .block = {128}}, upload(x), y,
         static_cast<int>(columns));
  std::vector<double> restored(columns);
  for (std::size_t b = 0; b < blocks; ++b) {
    double most = 0;
    for (std::size_t k = 0; k < 32; ++k) most = std::max(most, std::fabs(at(x, b * 32 + k)));
    const double scale = of_half(y.data()[b].d);
    CHECK(std::fabs(scale - most / 127) <= most / 127 / 1000);
    for (std::size_t k = 0; k < 32; ++k) {
      restored[b * 32 + k] = scale * y.data()[b].q[k];
      CHECK(std::fabs(restored[b * 32 + k] - at(x, b * 32 + k)) <= most / 127);
    }
  }
  std::vector<Weights> w(rows * blocks);
  const auto numbers = random_ints(rows * columns, 5, 0, 15);
  std::vector<double> expected(rows);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float d = static_cast<float>(1 + i % 7) / 16;
    w[i].d = half_bits(d);
    for (std::size_t k = 0; k < 16; ++k) {
      const int low = numbers[i * 32 + k], high = numbers[i * 32 + k + 16];
      w[i].q[k] = static_cast<std::uint8_t>(low | high << 4);
      const std::size_t b = i % blocks;
      expected[i / blocks] +=
          static_cast<double>(d) * ((low - 8) * restored[b * 32 + k] + (high - 8) * restored[b * 32 + k + 16]);
    }
  }
  const auto out = upload(std::vector<float>(rows));
  launch(llama()->untyped_kernel("mul_mat_vec_q4_0"), {.grid = {3}, .block = {32, 4}}, upload(w), y, out,
         static_cast<int>(columns), static_cast<int>(rows));
  CHECK(difference(download(out), expected) < 1e-4);
}

TEST_CASE("llama: softmax with a mask, in shared memory and without") {
  constexpr std::size_t rows = 3, columns = 300;
  const auto x = random_floats(rows * columns, 6, -5, 5);
  std::vector<std::uint16_t> mask(columns);
  std::vector<double> expected;
  for (std::size_t c = 0; c < columns; ++c) mask[c] = half_bits(static_cast<float>(c % 5) / -4);
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> e;
    for (std::size_t c = 0; c < columns; ++c)
      e.push_back(std::exp(0.5 * at(x, r * columns + c) + 2.0 * static_cast<double>(c % 5) / -4));
    const double sum = std::accumulate(e.begin(), e.end(), 0.0);
    for (const double v : e) expected.push_back(v / sum);
  }
  const auto in = upload(x), out = upload(std::vector<float>(x.size()));
  const auto m = upload(mask);
  for (const char* name : {"soft_max_f32_smem", "soft_max_f32"}) {
    CAPTURE(name);
    launch(llama()->untyped_kernel(name), {.grid = {rows}, .block = {128}, .shared_memory_bytes = (columns + 32) * 4}, in, m,
           out, static_cast<int>(columns), 0.5F, 2.0F);
    CHECK(difference(download(out), expected) < 1e-5);
  }
}

TEST_CASE("llama: attention") {
  constexpr std::size_t size = 128, keys = 200, queries = 3;
  const auto q = random_floats(queries * size, 8);
  std::vector<float> k, v;
  for (const int number : random_ints(keys * size, 9, -8, 8)) k.push_back(static_cast<float>(number) / 16);
  for (const int number : random_ints(keys * size, 10, -8, 8)) v.push_back(static_cast<float>(number) / 8);
  std::vector<std::uint16_t> kh, vh;
  for (const float f : k) kh.push_back(half_bits(f));
  for (const float f : v) vh.push_back(half_bits(f));
  const auto out = upload(std::vector<float>(queries * size));
  launch(llama()->untyped_kernel("flash_attn_vec_128"), {.grid = {queries}, .block = {32, 4}}, upload(q), upload(kh),
         upload(vh), out, 0.25F, static_cast<int>(keys));
  std::vector<double> expected(queries * size);
  for (std::size_t i = 0; i < queries; ++i) {
    std::vector<double> weight(keys);
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t d = 0; d < size; ++d) weight[j] += 0.25 * at(q, i * size + d) * at(k, j * size + d);
      weight[j] = std::exp(weight[j]);
    }
    const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t d = 0; d < size; ++d) expected[i * size + d] += weight[j] / sum * at(v, j * size + d);
    }
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("torch: layer norm by Welford's numbers") {
  constexpr std::size_t rows = 5, columns = 640;
  const auto x = random_floats(rows * columns, 11, 90, 110), gamma = random_floats(columns, 12),
             beta = random_floats(columns, 13);
  std::vector<double> expected;
  for (std::size_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < columns; ++c) mean += at(x, r * columns + c) / columns;
    for (std::size_t c = 0; c < columns; ++c) variance += std::pow(at(x, r * columns + c) - mean, 2) / columns;
    for (std::size_t c = 0; c < columns; ++c)
      expected.push_back(at(gamma, c) * (at(x, r * columns + c) - mean) / std::sqrt(variance + 1e-5) + at(beta, c));
  }
  for (const unsigned warps : {1U, 4U}) {
    const auto out = upload(std::vector<float>(x.size())), mean = upload(std::vector<float>(rows)),
               scale = upload(std::vector<float>(rows));
    launch(torch()->untyped_kernel("vectorized_layer_norm"),
           {.grid = {rows}, .block = {32, warps}, .shared_memory_bytes = 256}, static_cast<int>(columns), 1e-5F, upload(x),
           upload(gamma), upload(beta), mean, scale, out);
    CHECK(difference(download(out), expected) < 1e-4);
  }
}

// Philox 4x32 with ten rounds, as it was published.
std::array<std::uint32_t, 4> philox(std::uint32_t key0, std::uint32_t key1, std::array<std::uint32_t, 4> c) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

TEST_CASE("torch: dropout by Philox, a bag of embeddings") {
  constexpr std::size_t n = 1000;
  const auto a = random_floats(n, 15);
  const auto out = upload(std::vector<float>(n));
  const auto kept = upload(std::vector<std::uint8_t>(n));
  launch(torch()->untyped_kernel("fused_dropout"), {.grid = {4}, .block = {64}}, upload(a), out, kept, static_cast<int>(n),
         0.75F, 0x123456789abcULL);
  for (std::size_t i = 0; i < n; ++i) {
    const auto r = philox(0x56789abc, 0x1234, {0, 0, static_cast<std::uint32_t>(i / 4), 0});
    const bool keeps = static_cast<float>(r[i % 4]) * 2.3283064e-10F < 0.75F;
    REQUIRE(kept.data()[i] == keeps);
    REQUIRE(std::fabs(static_cast<double>(out.data()[i]) - (keeps ? at(a, i) / 0.75 : 0)) < 1e-6);
  }

  const auto weight = random_floats(50 * 20, 18);
  std::vector<std::int64_t> indices;
  for (const int i : random_ints(60, 19, 0, 49)) indices.push_back(i);
  const std::vector<std::int64_t> offsets{0, 7, 7, 30, 60};
  const auto bags = upload(std::vector<float>(4 * 20));
  launch(torch()->untyped_kernel("embedding_bag_sum"), {.grid = {2}, .block = {16, 2}}, upload(weight), upload(indices),
         upload(offsets), bags, 20, 4);
  std::vector<double> sums(80);
  for (std::size_t bag = 0; bag < 4; ++bag) {
    for (auto e = static_cast<std::size_t>(offsets[bag]); e < static_cast<std::size_t>(offsets[bag + 1]); ++e) {
      for (std::size_t f = 0; f < 20; ++f) sums[bag * 20 + f] += at(weight, static_cast<std::size_t>(indices[e]) * 20 + f);
    }
  }
  CHECK(difference(download(bags), sums) < 1e-6);
}

}  // namespace
}  // namespace weir::test::llama_test
