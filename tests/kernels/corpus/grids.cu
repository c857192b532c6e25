// SPDX-License-Identifier: Apache-2.0
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
