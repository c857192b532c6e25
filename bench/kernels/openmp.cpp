// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

/// OpenMP loops with the same results as the kernels in this folder. Each compiler builds them into a library, which
/// weir-bench-kernels loads.
extern "C" {

void saxpy(int n, float a, const float* __restrict x, float* __restrict y) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void sigmoid(const float* __restrict in, float* __restrict out, int n) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) out[i] = 1 / (1 + std::exp(-in[i]));
}

void image(const float* __restrict in, float* __restrict out, int width, int height) {
#pragma omp parallel for
  for (int y = 0; y < height; ++y) {
#pragma omp simd
    for (int x = 0; x < width; ++x) out[y * width + x] = 0.5F * in[y * width + x] + 1;
  }
}

void inner_stencil(const float* __restrict in, float* __restrict out, int width, int height) {
#pragma omp parallel for
  for (int y = 1; y < height - 1; ++y) {
#pragma omp simd
    for (int i = y * width + 1; i < y * width + width - 1; ++i)
      out[i] = 0.2F * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
  }
}

void product(const float* __restrict a, const float* __restrict b, float* __restrict c, int n) {
#pragma omp parallel for
  for (int row = 0; row < n; row += 16) {
    for (int column = 0; column < n; column += 16) {
      float sum[16][16] = {};
      for (int t = 0; t < n; t += 16) {
        for (int y = 0; y < 16; ++y) {
          for (int k = 0; k < 16; ++k) {
#pragma omp simd
            for (int x = 0; x < 16; ++x) sum[y][x] += a[(row + y) * n + t + k] * b[(t + k) * n + column + x];
          }
        }
      }
      for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 16; ++x) c[(row + y) * n + column + x] = sum[y][x];
      }
    }
  }
}

// Computes the sum of each group of `length` elements.
void sums(const float* in, float* out, int n, int length) {
#pragma omp parallel for
  for (int block = 0; block < n / length; ++block) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int t = 0; t < length; ++t) sum += in[block * length + t];
    out[block] = sum;
  }
}

void total(const float* in, float* out, int n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += in[i];
  out[0] = sum;
}

void scan(const float* in, float* out, int n) {
#pragma omp parallel for
  for (int block = 0; block < n / 256; ++block) {
    float sum = 0;
    for (int t = 0; t < 256; ++t) out[block * 256 + t] = sum += in[block * 256 + t];
  }
}

void softmax(const float* __restrict in, float* __restrict out, int rows, int columns) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    const float* row = in + r * columns;
    float greatest = -1e30F, sum = 0;
#pragma omp simd reduction(max : greatest)
    for (int c = 0; c < columns; ++c) greatest = row[c] > greatest ? row[c] : greatest;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < columns; ++c) sum += out[r * columns + c] = std::exp(row[c] - greatest);
    const float scale = 1 / sum;
#pragma omp simd
    for (int c = 0; c < columns; ++c) out[r * columns + c] *= scale;
  }
}

void layer_norm(const float* __restrict in, const float* __restrict weight, const float* __restrict bias,
                float* __restrict out, int rows, int columns) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    const float* row = in + r * columns;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < columns; ++c) sum += row[c];
    const float mean = sum / static_cast<float>(columns);
#pragma omp simd reduction(+ : squares)
    for (int c = 0; c < columns; ++c) squares += (row[c] - mean) * (row[c] - mean);
    const float scale = 1 / std::sqrt(squares / static_cast<float>(columns) + 1e-5F);
#pragma omp simd
    for (int c = 0; c < columns; ++c) out[r * columns + c] = (row[c] - mean) * scale * weight[c] + bias[c];
  }
}

void attention(const float* __restrict q, const float* __restrict k, const float* __restrict v, float* __restrict out,
               int heads, int tokens) {
#pragma omp parallel for
  for (int row = 0; row < heads * tokens; ++row) {
    const int head = row / tokens * tokens * 64;
    std::vector<float> weights(static_cast<std::size_t>(tokens));
    float greatest = -1e30F, total = 0, sums[64] = {};
    for (int i = 0; i < tokens; ++i) {
      float score = 0;
#pragma omp simd reduction(+ : score)
      for (int d = 0; d < 64; ++d) score += q[row * 64 + d] * k[head + i * 64 + d];
      weights[static_cast<std::size_t>(i)] = score * 0.125F;
      greatest = std::max(greatest, score * 0.125F);
    }
#pragma omp simd reduction(+ : total)
    for (int i = 0; i < tokens; ++i) {
      weights[static_cast<std::size_t>(i)] = std::exp(weights[static_cast<std::size_t>(i)] - greatest);
      total += weights[static_cast<std::size_t>(i)];
    }
    for (int i = 0; i < tokens; ++i) {
#pragma omp simd
      for (int d = 0; d < 64; ++d) sums[d] += weights[static_cast<std::size_t>(i)] * v[head + i * 64 + d];
    }
    for (int d = 0; d < 64; ++d) out[row * 64 + d] = sums[d] / total;
  }
}

void histogram(const unsigned* in, unsigned* out, int n) {
#pragma omp parallel
  {
    unsigned bins[256] = {};
#pragma omp for nowait
    for (int i = 0; i < n; ++i) ++bins[in[i] & 255U];
    for (int b = 0; b < 256; ++b) {
#pragma omp atomic
      out[b] += bins[b];
    }
  }
}

void stencil(const float* __restrict in, float* __restrict out, int width) {
#pragma omp parallel for
  for (int y = 0; y < width; ++y) {
    const float* p = in + (y + 1) * (width + 2) + 1;
#pragma omp simd
    for (int x = 0; x < width; ++x)
      out[y * width + x] = 0.2F * (p[x] + p[x - width - 2] + p[x + width + 2] + p[x - 1] + p[x + 1]);
  }
}

void bodies(const float* x, const float* y, const float* z, float* force, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float mx = x[i], my = y[i], mz = z[i];
    float f = 0;
#pragma omp simd reduction(+ : f)
    for (int k = 0; k < n; ++k) {
      const float dx = x[k] - mx, dy = y[k] - my, dz = z[k] - mz;
      const float r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01F);
      f += dx * r * r * r;
    }
    force[i] = f;
  }
}

void compaction(const float* in, float* out, int* counts, int n) {
#pragma omp parallel for
  for (int warp = 0; warp < n / 32; ++warp) {
    int count = 0;
    for (int i = warp * 32; i < warp * 32 + 32; ++i) {
      if (in[i] > 0) out[warp * 32 + count++] = in[i];
    }
    counts[warp] = count;
  }
}
}
