// Kernels that use only the thread's index in the grid, so that the CPU can run neighbouring blocks as one, and similar
// kernels that use more. Each thread adds to a value in memory, so a thread that runs twice or never changes the result.

#define KERNEL(name) extern "C" __global__ void name(int* out, int n, int width, unsigned base)

KERNEL(k_signed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += 3 * i + 1;
}
KERNEL(k_unsigned) {
  const unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= (unsigned)n) return;
  out[i] += 3 * i + 1;
}
KERNEL(k_wide) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (size_t)n) out[i] += 3 * (int)i + 1;
}
KERNEL(k_widened_late) {
  const size_t i = blockIdx.x * blockDim.x + (size_t)threadIdx.x;
  if (i < (size_t)n) out[i] += 3 * (int)i + 1;
}
KERNEL(k_wraps) {
  const unsigned i = base + (blockIdx.x * blockDim.x + threadIdx.x);
  if ((int)i < n && i - base < (unsigned)n) out[i - base] += 3 * (i - base) + 1;
}
KERNEL(k_adds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[i % 5], i);
}
KERNEL(k_last_first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int last = gridDim.x * blockDim.x - 1;
  if (last - i < n) out[last - i] += 3 * (last - i) + 1;
}
KERNEL(k_loop) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k <= i % 7; ++k) sum += k;
  out[i] += sum;
}
KERNEL(k_plane) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y * width + x < n) out[y * width + x] += 3 * (y * width + x) + 1;
}
KERNEL(k_volume) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z, rows = gridDim.y * blockDim.y;
  const int i = (z * rows + y) * width + x;
  if (x < width && i < n) out[i] += 3 * i + 1;
}
KERNEL(k_names_block) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += blockIdx.x + 1;
}
KERNEL(k_names_thread) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += threadIdx.x + 1;
}
KERNEL(k_own_array) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int own[8];
  for (int k = 0; k < 8; ++k) own[(k + i) & 7] = k * i;
  if (i < n) out[i] += own[width & 7];
}
KERNEL(k_shares) {
  __shared__ int least;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  least = 5;
  if (i < n) out[i] += least;
}
KERNEL(k_waits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += __syncthreads_count(1);
}
KERNEL(k_strided) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] += 3 * i + 1;
}
KERNEL(k_strided_wide) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)blockDim.x * gridDim.x) out[i] += 3 * (int)i + 1;
}
KERNEL(k_strided_twice) {
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (unsigned i = first; i < (unsigned)n; i += step) out[i] += 3 * i;
  for (unsigned i = first; i < (unsigned)n; i += step) out[i] += 1;
}
KERNEL(k_strided_keeps) {
  int turns = 0;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += gridDim.x * blockDim.x) out[i] += 3 * i + ++turns;
  if (turns > 1) out[first] += turns * width;
}
KERNEL(k_strided_shares) {
  __shared__ int most;
  most = 7;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] += most;
}
KERNEL(k_strided_to_top) {
  for (int i = (int)base + threadIdx.x; i < n; i += width) {
    if ((unsigned)i - base < 4096u) out[(unsigned)i - base] = 101;
  }
}
KERNEL(k_strided_first_value) {
  int last = 0, other = 1;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int own = out[i];
    out[i] = 3 * last + other;
    last = other = own;
  }
  out[n + threadIdx.x] = last;
}
KERNEL(k_strided_other_value) {
  int last = 0, other = 1;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    const int own = out[i];
    out[i] = 3 * last + other;
    last = other = own;
  }
  out[n + threadIdx.x] = other;
}
