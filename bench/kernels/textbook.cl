// SPDX-License-Identifier: Apache-2.0
// The kernels of textbook.cu and saxpy.cu in OpenCL C. Instead of shuffles, which OpenCL C lacks, they use a tree in local
// memory.

kernel void saxpy(int n, float a, global const float* x, global float* y) {
  const int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

kernel void saxpy_strided(int n, float a, global const float* x, global float* y) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = a * x[i] + y[i];
}

kernel void product(global const float* a, global const float* b, global float* c, int n) {
  local float as[16][16];
  local float bs[16][16];
  const int x = get_local_id(0), y = get_local_id(1), row = get_group_id(1) * 16 + y, column = get_group_id(0) * 16 + x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[y][x] = a[row * n + t + x];
    bs[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += as[y][k] * bs[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void product_registers(global const float* a, global const float* b, global float* c, int n) {
  local float as[16][64];
  local float bs[16][64];
  const int x = get_local_id(0), y = get_local_id(1), thread = y * 16 + x;
  const int row = get_group_id(1) * 64, column = get_group_id(0) * 64;
  float sums[4][4] = {{0}};
  for (int t = 0; t < n; t += 16) {
    for (int i = thread; i < 64 * 16; i += 256) {
      as[i % 16][i / 16] = a[(row + i / 16) * n + t + i % 16];
      bs[i / 64][i % 64] = b[(t + i / 64) * n + column + i % 64];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sums[i][j] += as[k][y + 16 * i] * bs[k][x + 16 * j];
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) c[(row + y + 16 * i) * n + column + x + 16 * j] = sums[i][j];
  }
}

kernel void tree_sum(global const float* in, global float* out, int n) {
  local float s[256];
  const int t = get_local_id(0), i = get_global_id(0);
  s[t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = get_local_size(0) / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

kernel void scan(global const float* in, global float* out) {
  local float s[512];
  const int t = get_local_id(0), i = get_global_id(0);
  int from = 0;
  s[t] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 256; d *= 2) {
    s[(256 - from) + t] = t >= d ? s[from + t] + s[from + t - d] : s[from + t];
    from = 256 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = s[from + t];
}

kernel void softmax(global const float* in, global float* out, int columns) {
  local float s[256];
  const int t = get_local_id(0);
  global const float* row = in + get_group_id(0) * columns;
  float greatest = -1e30f;
  for (int c = t; c < columns; c += 256) greatest = fmax(greatest, row[c]);
  s[t] = greatest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] = fmax(s[t], s[t + k]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  greatest = s[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int c = t; c < columns; c += 256) sum += exp(row[c] - greatest);
  s[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = 1 / s[0];
  for (int c = t; c < columns; c += 256) out[get_group_id(0) * columns + c] = exp(row[c] - greatest) * scale;
}

kernel void layer_norm(global const float* in, global const float* weight, global const float* bias, global float* out,
                       int columns) {
  local float s[256];
  const int t = get_local_id(0);
  global const float* row = in + get_group_id(0) * columns;
  float sum = 0;
  for (int c = t; c < columns; c += 256) sum += row[c];
  s[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float mean = s[0] / columns;
  barrier(CLK_LOCAL_MEM_FENCE);
  float squares = 0;
  for (int c = t; c < columns; c += 256) squares += (row[c] - mean) * (row[c] - mean);
  s[t] = squares;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = rsqrt(s[0] / columns + 1e-5f);
  for (int c = t; c < columns; c += 256)
    out[get_group_id(0) * columns + c] = (row[c] - mean) * scale * weight[c] + bias[c];
}

kernel void attention(global const float* q, global const float* k, global const float* v, global float* out,
                      int tokens) {
  local float ks[16][64];
  local float vs[16][64];
  const int t = get_local_id(0), head = get_group_id(1) * tokens * 64, row = head + (get_group_id(0) * 64 + t) * 64;
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
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 16; ++i) {
      float score = 0;
      for (int d = 0; d < 64; ++d) score += query[d] * ks[i][d];
      const float now = fmax(greatest, score), before = exp(greatest - now), weight = exp(score - now);
      for (int d = 0; d < 64; ++d) sums[d] = sums[d] * before + weight * vs[i][d];
      total = total * before + weight;
      greatest = now;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int d = 0; d < 64; ++d) out[row + d] = sums[d] / total;
}

kernel void histogram(global const unsigned int* in, global unsigned int* out, int n) {
  local unsigned int bins[256];
  bins[get_local_id(0)] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&bins[in[i] & 255]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&out[get_local_id(0)], bins[get_local_id(0)]);
}

kernel void stencil(global const float* in, global float* out, int width) {
  local float s[18][18];
  const int lx = get_local_id(0) + 1, ly = get_local_id(1) + 1, x = get_global_id(0), y = get_global_id(1);
  global const float* p = in + (y + 1) * (width + 2) + x + 1;
  s[ly][lx] = p[0];
  if (lx == 1) s[ly][0] = p[-1];
  if (lx == 16) s[ly][17] = p[1];
  if (ly == 1) s[0][lx] = p[-(width + 2)];
  if (ly == 16) s[17][lx] = p[width + 2];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[y * width + x] = 0.2f * (s[ly][lx] + s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1]);
}

kernel void bodies(global const float* x, global const float* y, global const float* z, global float* force, int n) {
  local float sx[128];
  local float sy[128];
  local float sz[128];
  const int i = get_global_id(0), t = get_local_id(0);
  const float mx = x[i], my = y[i], mz = z[i];
  float f = 0;
  for (int first = 0; first < n; first += 128) {
    sx[t] = x[first + t];
    sy[t] = y[first + t];
    sz[t] = z[first + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 128; ++k) {
      const float dx = sx[k] - mx, dy = sy[k] - my, dz = sz[k] - mz;
      const float r = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
      f += dx * r * r * r;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  force[i] = f;
}
