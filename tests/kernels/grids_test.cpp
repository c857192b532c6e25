// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/corpus.hpp"

/// Tests grids and particles: halos in shared memory, blocks of two and three dimensions, launches in graphs, many blocks at
/// once.
namespace weir::test::grids_test {
namespace {

const ModulePtr& module() { return corpus("grids"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("stencils with halos, in one and three dimensions") {
  constexpr int n = 500;
  const auto in = random_floats(n, 1);
  const auto out = upload(std::vector<float>(n));
  launch(module()->untyped_kernel("stencil_1d"), grid_for(n, 64), upload(in), out, n);
  std::vector<double> expected(n);
  for (int i = 0; i < n; ++i) {
    for (int o = -3; o <= 3; ++o) {
      if (i + o >= 0 && i + o < n)
        expected[static_cast<std::size_t>(i)] +=
            static_cast<double>(in[static_cast<std::size_t>(i + o)]) * (4 - std::abs(o));
    }
  }
  CHECK(difference(download(out), expected) < 1e-5);

  constexpr int nx = 19, ny = 11, nz = 7;
  const auto volume = random_floats(nx * ny * nz, 2);
  const auto result = upload(std::vector<float>(volume.size()));
  launch(module()->untyped_kernel("stencil_3d"), {.grid = {3, 3}, .block = {8, 4}}, upload(volume), result, nx, ny, nz);
  expected.assign(volume.size(), 0);
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

TEST_CASE("a lattice Boltzmann step") {
  auto f = random_floats(9 * 256, 5, 0.5F, 1.0F);
  const auto out = upload(std::vector<float>(f.size()));
  launch(module()->untyped_kernel("lattice"), {.grid = {1}, .block = {16, 16}}, upload(f), out, 0.8F);
  const int cx[] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  std::vector<double> expected(f.size());
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) {
      const auto at = [&](int q) { return static_cast<double>(f[static_cast<std::size_t>((q * 16 + y) * 16 + x)]); };
      double density = 0, ux = 0, uy = 0;
      for (int q = 0; q < 9; ++q) {
        density += at(q);
        ux += cx[q] * at(q);
        uy += cy[q] * at(q);
      }
      ux /= density;
      uy /= density;
      for (int q = 0; q < 9; ++q) {
        const double cu = 3 * (cx[q] * ux + cy[q] * uy), weight = q == 0 ? 4.0 / 9 : q < 5 ? 1.0 / 9 : 1.0 / 36;
        const double equal = weight * density * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
        expected[static_cast<std::size_t>((q * 16 + (y + cy[q] + 16) % 16) * 16 + (x + cx[q] + 16) % 16)] =
            at(q) + 0.8 * (equal - at(q));
      }
    }
  }
  CHECK(difference(download(out), expected) < 1e-5);
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
