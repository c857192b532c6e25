// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of textbooks. A block has 256 threads, which share data, unless stated otherwise.

// C = A B for n x n matrices, in tiles of 16 x 16 elements. Blocks have 16 x 16 threads.
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[y][x] = a[row * n + t + x];
    bs[y][x] = b[(t + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[y][k] * bs[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// The same product in tiles of 64 x 64 elements. Each of 16 x 16 threads computes 4 x 4 elements.
extern "C" __global__ void product_registers(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][64];
  __shared__ float bs[16][64];
  const int x = threadIdx.x, y = threadIdx.y, thread = y * 16 + x, row = blockIdx.y * 64, column = blockIdx.x * 64;
  float sums[4][4] = {};
  for (int t = 0; t < n; t += 16) {
    for (int i = thread; i < 64 * 16; i += 256) {
      as[i % 16][i / 16] = a[(row + i / 16) * n + t + i % 16];
      bs[i / 64][i % 64] = b[(t + i / 64) * n + column + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sums[i][j] += as[k][y + 16 * i] * bs[k][x + 16 * j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) c[(row + y + 16 * i) * n + column + x + 16 * j] = sums[i][j];
  }
}

// Computes the sum of each block's elements by a tree in shared memory.
extern "C" __global__ void tree_sum(const float* in, float* out, int n) {
  __shared__ float s[256];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__device__ float warp_sum(float value) {
  for (int k = 16; k > 0; k /= 2) value += __shfl_xor_sync(0xffffffffu, value, k);
  return value;
}
__device__ float block_sum(float value, float* sums) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0);
  __syncthreads();
  return value;
}

// Computes the same sums by shuffles.
extern "C" __global__ void shuffle_sum(const float* in, float* out, int n) {
  __shared__ float sums[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = block_sum(i < n ? in[i] : 0, sums);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Computes the inclusive prefix sums of each block's elements.
extern "C" __global__ void scan(const float* in, float* out) {
  __shared__ float s[512];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  int from = 0;
  s[t] = in[i];
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    s[(256 - from) + t] = t >= d ? s[from + t] + s[from + t - d] : s[from + t];
    from = 256 - from;
    __syncthreads();
  }
  out[i] = s[from + t];
}

// Computes one row per block.
extern "C" __global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  const float* row = in + blockIdx.x * columns;
  float greatest = -1e30f;
  for (int c = t; c < columns; c += 256) greatest = fmaxf(greatest, row[c]);
  s[t] = greatest;
  __syncthreads();
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] = fmaxf(s[t], s[t + k]);
    __syncthreads();
  }
  greatest = s[0];
  __syncthreads();
  float sum = 0;
  for (int c = t; c < columns; c += 256) sum += expf(row[c] - greatest);
  s[t] = sum;
  __syncthreads();
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  const float scale = 1 / s[0];
  for (int c = t; c < columns; c += 256) out[blockIdx.x * columns + c] = expf(row[c] - greatest) * scale;
}

// Computes one row per block.
extern "C" __global__ void layer_norm(const float* in, const float* weight, const float* bias, float* out, int columns) {
  __shared__ float sums[32];
  const float* row = in + blockIdx.x * columns;
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c];
  const float mean = block_sum(sum, sums) / columns;
  float squares = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
  const float scale = rsqrtf(block_sum(squares, sums) / columns + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += blockDim.x)
    out[blockIdx.x * columns + c] = (row[c] - mean) * scale * weight[c] + bias[c];
}

// Attention for one head, with 64 numbers per token. Each of 64 threads has one query, and keeps the maximum score and the
// sums so far.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* out, int tokens) {
  __shared__ float ks[16][64];
  __shared__ float vs[16][64];
  const int t = threadIdx.x, head = blockIdx.y * tokens * 64, row = head + (blockIdx.x * 64 + t) * 64;
  float query[64], sums[64];
  for (int d = 0; d < 64; ++d) {
    query[d] = q[row + d] * 0.125f;
    sums[d] = 0;
  }
  float greatest = -1e30f, total = 0;
  for (int first = 0; first < tokens; first += 16) {
    for (int i = 0; i < 16; ++i) {
      ks[i][t] = k[head + (first + i) * 64 + t];
      vs[i][t] = v[head + (first + i) * 64 + t];
    }
    __syncthreads();
    for (int i = 0; i < 16; ++i) {
      float score = 0;
      for (int d = 0; d < 64; ++d) score += query[d] * ks[i][d];
      const float now = fmaxf(greatest, score), before = expf(greatest - now), weight = expf(score - now);
      for (int d = 0; d < 64; ++d) sums[d] = sums[d] * before + weight * vs[i][d];
      total = total * before + weight;
      greatest = now;
    }
    __syncthreads();
  }
  for (int d = 0; d < 64; ++d) out[row + d] = sums[d] / total;
}

// Counts how often each of 256 values occurs.
extern "C" __global__ void histogram(const unsigned int* in, unsigned int* out, int n) {
  __shared__ unsigned int bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i] & 255], 1);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// A block has 16 x 16 threads. Shared memory contains their cells and the cells around them.
extern "C" __global__ void stencil(const float* in, float* out, int width) {
  __shared__ float s[18][18];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
  const float* p = in + (y + 1) * (width + 2) + x + 1;
  s[ly][lx] = p[0];
  if (lx == 1) s[ly][0] = p[-1];
  if (lx == 16) s[ly][17] = p[1];
  if (ly == 1) s[0][lx] = p[-(width + 2)];
  if (ly == 16) s[17][lx] = p[width + 2];
  __syncthreads();
  out[y * width + x] = 0.2f * (s[ly][lx] + s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1]);
}

// Computes the force on each body along x. A block has 128 threads.
extern "C" __global__ void bodies(const float* x, const float* y, const float* z, float* force, int n) {
  __shared__ float sx[128];
  __shared__ float sy[128];
  __shared__ float sz[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
  const float mx = x[i], my = y[i], mz = z[i];
  float f = 0;
  for (int first = 0; first < n; first += 128) {
    sx[t] = x[first + t];
    sy[t] = y[first + t];
    sz[t] = z[first + t];
    __syncthreads();
    for (int k = 0; k < 128; ++k) {
      const float dx = sx[k] - mx, dy = sy[k] - my, dz = sz[k] - mz;
      const float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      f += dx * r * r * r;
    }
    __syncthreads();
  }
  force[i] = f;
}
