// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/support.hpp"

/// Grids and particles: halos in shared memory, blocks of two and three dimensions, launches in graphs, many blocks at once.
namespace weir::test {
namespace {

constexpr const char* source = R"(
#define RADIUS 3
#define BLOCK 64
extern "C" __global__ void stencil_1d(const float* in, float* out, int n) {
  __shared__ float s[BLOCK + 2 * RADIUS];
  int g = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x + RADIUS;
  s[l] = g < n ? in[g] : 0;
  if (threadIdx.x < RADIUS) {
    s[l - RADIUS] = g >= RADIUS ? in[g - RADIUS] : 0;
    s[l + BLOCK] = g + BLOCK < n ? in[g + BLOCK] : 0;
  }
  __syncthreads();
  if (g >= n) return;
  float sum = 0;
  for (int o = -RADIUS; o <= RADIUS; ++o) sum += s[l + o] * (RADIUS + 1 - (o < 0 ? -o : o));
  out[g] = sum;
}

// Seven points; x and y in the block, z by a loop with barriers.
extern "C" __global__ void stencil_3d(const float* in, float* out, int nx, int ny, int nz) {
  __shared__ float tile[6][10];
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, plane = nx * ny;
  const bool inside = x < nx && y < ny;
  float below = 0, here = inside ? in[y * nx + x] : 0, above = 0;
  for (int z = 0; z < nz; ++z) {
    above = inside && z + 1 < nz ? in[(z + 1) * plane + y * nx + x] : 0;
    tile[ty][tx] = here;
    if (threadIdx.x == 0) tile[ty][0] = inside && x > 0 ? in[z * plane + y * nx + x - 1] : 0;
    if (threadIdx.x == 7) tile[ty][9] = y < ny && x + 1 < nx ? in[z * plane + y * nx + x + 1] : 0;
    if (threadIdx.y == 0) tile[0][tx] = inside && y > 0 ? in[z * plane + (y - 1) * nx + x] : 0;
    if (threadIdx.y == 3) tile[5][tx] = x < nx && y + 1 < ny ? in[z * plane + (y + 1) * nx + x] : 0;
    __syncthreads();
    if (inside) out[z * plane + y * nx + x] = above + below + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] - 6 * here;
    __syncthreads();
    below = here;
    here = above;
  }
}

// Conway's life with a halo; bytes in shared memory.
extern "C" __global__ void life(const unsigned char* in, unsigned char* out, int width, int height) {
  __shared__ unsigned char s[10][34];
  const int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 8 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
    const int x = (x0 + i % 34 + width) % width, y = (y0 + i / 34 + height) % height;
    s[i / 34][i % 34] = in[y * width + x];
  }
  __syncthreads();
  const int x = x0 + 1 + threadIdx.x, y = y0 + 1 + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = 0; dy < 3; ++dy)
    for (int dx = 0; dx < 3; ++dx) neighbours += (dx != 1 || dy != 1) && s[threadIdx.y + dy][threadIdx.x + dx];
  out[y * width + x] = neighbours == 3 || (neighbours == 2 && s[threadIdx.y + 1][threadIdx.x + 1]);
}

extern "C" __global__ void bodies(const float4* where, float3* force, int n) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 me = i < n ? where[i] : make_float4(0, 0, 0, 0);
  float3 sum = {0, 0, 0};
  for (int first = 0; first < n; first += blockDim.x) {
    tile[threadIdx.x] = first + threadIdx.x < n ? where[first + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int j = 0; j < blockDim.x; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float f = other.w * inverse * inverse * inverse;
      sum.x += dx * f;
      sum.y += dy * f;
      sum.z += dz * f;
    }
    __syncthreads();
  }
  if (i < n) force[i] = sum;
}

// A lattice Boltzmann step in two dimensions with nine speeds; the block streams through shared memory.
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
extern "C" __global__ void lattice(const float* in, float* out, float omega) {
  __shared__ float s[9][16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  float f[9], density = 0, ux = 0, uy = 0;
  for (int q = 0; q < 9; ++q) {
    f[q] = in[(q * 16 + y) * 16 + x];
    density += f[q];
    ux += cx[q] * f[q];
    uy += cy[q] * f[q];
  }
  ux /= density;
  uy /= density;
  for (int q = 0; q < 9; ++q) {
    const float cu = 3 * (cx[q] * ux + cy[q] * uy);
    const float equal = weight[q] * density * (1 + cu + 0.5f * cu * cu - 1.5f * (ux * ux + uy * uy));
    s[q][(y + cy[q] + 16) % 16][(x + cx[q] + 16) % 16] = f[q] + omega * (equal - f[q]);
  }
  __syncthreads();
  for (int q = 0; q < 9; ++q) out[(q * 16 + y) * 16 + x] = s[q][y][x];
}

extern "C" __global__ void in_three_dimensions(int* out) {
  __shared__ int s[2][3][5];
  s[threadIdx.z][threadIdx.y][threadIdx.x] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * (blockIdx.x + 2 * blockIdx.y + 4 * blockIdx.z);
  __syncthreads();
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * 30 + (threadIdx.z * 3 + threadIdx.y) * 5 + threadIdx.x] = s[1 - threadIdx.z][2 - threadIdx.y][4 - threadIdx.x];
}

// Large values of each thread live across barriers, in every block anew.
extern "C" __global__ void large_values(int* out) {
  __shared__ int s[1024];
  long long kept[40];
  for (int i = 0; i < 40; ++i) kept[i] = threadIdx.x * i + blockIdx.x;
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  long long sum = 0;
  for (int i = 0; i < 40; ++i) sum += kept[i] * (i % 3);
  out[blockIdx.x * blockDim.x + threadIdx.x] = (int)sum + s[blockDim.x - 1 - threadIdx.x];
}
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("stencils with halos, in one and three dimensions") {
  constexpr int n = 500;
  const auto in = random_floats(n, 1);
  const auto out = upload(std::vector<float>(n));
  launch(module()->kernel("stencil_1d"), grid_for(n, 64), upload(in), out, n);
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
  launch(module()->kernel("stencil_3d"), {.grid = {3, 3}, .block = {8, 4}}, upload(volume), result, nx, ny, nz);
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
  launch(module()->kernel("life"), {.grid = {3, 4}, .block = {32, 8}}, upload(in), out, width, height);
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
  launch(module()->kernel("bodies"), {.grid = {3}, .block = {64}, .shared_memory_bytes = 64 * 16}, upload(in), out, n);
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
  launch(module()->kernel("lattice"), {.grid = {1}, .block = {16, 16}}, upload(f), out, 0.8F);
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
  launch(module()->kernel("in_three_dimensions"), {.grid = {2, 2, 3}, .block = {5, 3, 2}}, out);
  for (int b = 0; b < 12; ++b) {
    for (int t = 0; t < 30; ++t) {
      CHECK(out.data()[b * 30 + t] ==
            (4 - t % 5) + 10 * (2 - t / 5 % 3) + 100 * (1 - t / 15) + 1000 * (b % 2 + 2 * (b / 2 % 2) + 4 * (b / 4)));
    }
  }
  const auto large = upload(std::vector<int>(50 * 1024));
  for (const unsigned block : {1024U, 3U, 512U}) {
    launch(module()->kernel("large_values"), {.grid = {50}, .block = {block}}, large);
    for (unsigned i = 0; i < 50 * block; ++i) {
      int sum = 0;
      for (int k = 0; k < 40; ++k) sum += (static_cast<int>(i % block) * k + static_cast<int>(i / block)) * (k % 3);
      REQUIRE(large.data()[i] == sum + static_cast<int>(block - 1 - i % block));
    }
  }
}

TEST_CASE("a captured launch keeps its shared memory's size, and its errors are the replaying stream's") {
  const auto stream = host().create_stream();
  const auto kernel = compile(R"(extern "C" __global__ void k(const int* in, int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = in[threadIdx.x];
  if (in[threadIdx.x] >= 0) __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
})")
                          ->kernel("k");
  std::vector<int> numbers(128);
  for (int i = 0; i < 128; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const auto in = upload(numbers), out = upload(std::vector<int>(128));
  const auto exec =
      stream
          ->capture([&](Stream& s) { s.launch(kernel, {.grid = {1}, .block = {128}, .shared_memory_bytes = 512}, in, out); })
          ->instantiate();
  exec->launch(*stream);
  stream->synchronize();
  std::reverse(numbers.begin(), numbers.end());
  CHECK(download(out) == numbers);
  in.data()[5] = -1;
  exec->launch(*stream);
  CHECK_THROWS_AS(stream->synchronize(), Error);
  in.data()[5] = 5;
  exec->launch(*stream);
  CHECK_NOTHROW(stream->synchronize());
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test
