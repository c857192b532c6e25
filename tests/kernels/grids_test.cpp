// SPDX-License-Identifier: Apache-2.0

#include "tests/kernels/corpus.hpp"

/// Tests grids and particles: halos in shared memory, blocks of two and three dimensions, launches in graphs, many blocks at
/// once.
namespace weir::test::grids_test {
namespace {

const ModulePtr& module() { return corpus("grids"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a stencil with a halo in three dimensions") {
  constexpr int nx = 19, ny = 11, nz = 7;
  const auto volume = random_floats(nx * ny * nz, 2);
  const auto result = upload(std::vector<float>(volume.size()));
  launch(module()->untyped_kernel("stencil_3d"), {.grid = {3, 3}, .block = {8, 4}}, upload(volume), result, nx, ny, nz);
  std::vector<double> expected(volume.size());
  const auto at = [&](int x, int y, int z) {
    return x < 0 || y < 0 || z < 0 || x >= nx || y >= ny || z >= nz
               ? 0.0
               : static_cast<double>(volume[static_cast<std::size_t>((z * ny + y) * nx + x)]);
  };
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        expected[static_cast<std::size_t>((z * ny + y) * nx + x)] = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) +
                                                                    at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1) -
                                                                    6 * at(x, y, z);
      }
    }
  }
  CHECK(difference(download(result), expected) < 1e-5);
}

TEST_CASE("the game of life") {
  constexpr int width = 70, height = 30;
  const auto numbers = random_ints(width * height, 3, 0, 1);
  const std::vector<unsigned char> in(numbers.begin(), numbers.end());
  const auto out = upload(std::vector<unsigned char>(in.size()));
  launch(module()->untyped_kernel("life"), {.grid = {3, 4}, .block = {32, 8}}, upload(in), out, width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int neighbours = 0;
      for (int d = 0; d < 9; ++d) {
        if (d != 4)
          neighbours +=
              in[static_cast<std::size_t>((y + d / 3 - 1 + height) % height * width + (x + d % 3 - 1 + width) % width)];
      }
      const auto i = static_cast<std::size_t>(y * width + x);
      REQUIRE(out.data()[i] == (neighbours == 3 || (neighbours == 2 && in[i] != 0) ? 1 : 0));
    }
  }
}

TEST_CASE("bodies that attract each other, by tiles of vectors") {
  struct alignas(16) Four {
    float x, y, z, w;
  };
  constexpr int n = 150;
  const auto numbers = random_floats(4 * n, 4);
  std::vector<Four> in;
  for (std::size_t i = 0; i < n; ++i)
    in.push_back({numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2], std::fabs(numbers[4 * i + 3])});
  const auto out = upload(std::vector<float>(3 * n));
  launch(module()->untyped_kernel("bodies"), {.grid = {3}, .block = {64}, .shared_memory_bytes = 64 * 16}, upload(in), out,
         n);
  std::vector<double> expected(3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (const Four& other : in) {
      const double d[] = {static_cast<double>(other.x - in[i].x), static_cast<double>(other.y - in[i].y),
                          static_cast<double>(other.z - in[i].z)};
      const double f = static_cast<double>(other.w) / std::pow(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01, 1.5);
      for (std::size_t k = 0; k < 3; ++k) expected[3 * i + k] += d[k] * f;
    }
  }
  CHECK(difference(download(out), expected) < 1e-4);
}

TEST_CASE("blocks of three dimensions, and values too large for the stack") {
  const auto out = upload(std::vector<int>(30 * 12));
  launch(module()->untyped_kernel("in_three_dimensions"), {.grid = {2, 2, 3}, .block = {5, 3, 2}}, out);
  for (int b = 0; b < 12; ++b) {
    for (int t = 0; t < 30; ++t) {
      CHECK(out.data()[b * 30 + t] ==
            (4 - t % 5) + 10 * (2 - t / 5 % 3) + 100 * (1 - t / 15) + 1000 * (b % 2 + 2 * (b / 2 % 2) + 4 * (b / 4)));
    }
  }
  const auto large = upload(std::vector<int>(50 * 1024));
  for (const unsigned block : {1024U, 3U, 512U}) {
    launch(module()->untyped_kernel("large_values"), {.grid = {50}, .block = {block}}, large);
    for (unsigned i = 0; i < 50 * block; ++i) {
      int sum = 0;
      for (int k = 0; k < 40; ++k) sum += (static_cast<int>(i % block) * k + static_cast<int>(i / block)) * (k % 3);
      REQUIRE(large.data()[i] == sum + static_cast<int>(block - 1 - i % block));
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::grids_test
