// Conditions that are true for a part of a row of threads, and indices that wrap around within a row. Each kernel has a twin
// with the same condition in a form that a compiler cannot evaluate: it adds flags[1], which is 0 at run time.

#define TOLD(value) ((value) + flags[1])
#define TOLD_IF(condition) ((condition) != (flags[1] != 0))

#define BOTH(name, declarations, condition, index, value)                                           \
  extern "C" __global__ void name(int* out, int n, unsigned base, unsigned long long wide, float f, \
                                  const unsigned char* flags) {                                     \
    declarations;                                                                                   \
    if (condition) out[index] = (value);                                                            \
  }                                                                                                 \
  extern "C" __global__ void name##_twin(int* out, int n, unsigned base, unsigned long long wide,   \
                                         float f, const unsigned char* flags) {                     \
    declarations;                                                                                   \
    if (TOLD_IF(condition)) out[TOLD(index)] = TOLD(value);                                            \
  }

#define X const int x = blockIdx.x * blockDim.x + threadIdx.x
#define UX const unsigned x = blockIdx.x * blockDim.x + threadIdx.x
#define AT const int at = (threadIdx.z * blockDim.y + threadIdx.y) * gridDim.x * blockDim.x + x

BOTH(k_two_sides, X; AT, x > 0 && x < n - 1, at, x + 1)
BOTH(k_two_sides_unsigned, UX; AT, x > 0u && x < (unsigned)n - 1, at, (int)x + 1)
BOTH(k_mixed_types, X; const int i = x - 5; AT, i >= 2 && i < (unsigned)n, at, i)
BOTH(k_mixed_below, X; const int i = x - 5; AT, i < (unsigned)n && i < 40u, at, i)
BOTH(k_base, const unsigned i = base + threadIdx.x, i >= 3 && i < 40, i, (int)i + 7)
BOTH(k_base_signed, const int i = base + threadIdx.x, i > -30 && i < 30, i + 40, i)
BOTH(k_base_long, const long long i = base + threadIdx.x, i > 2 && i < 300, i, (int)i + 9)
BOTH(k_base_wide, const unsigned long long i = wide + threadIdx.x, i >= 1 && i < 50, i, (int)i)
BOTH(k_widened, const long long i = (int)(base + threadIdx.x), i >= -20 && i <= 20, i + 30, (int)i)
BOTH(k_before, X; AT, x - 1u < (unsigned)n && x < 50, at, x + 3)
BOTH(k_beyond, X; AT, x - 1u > (unsigned)n && x < 50, at, x + 4)
BOTH(k_fractions, X; AT, x > f && x < 3 * f, at, x)
BOTH(k_offsets, X; AT, x - 2 >= 0 && x + 2 < n, at, x)
BOTH(k_other_way, X; AT, !(x < 2 || n <= x || threadIdx.y == 1), at, x)
BOTH(k_in_order, X; AT, n < 2147483647 && x < n + 1 && x > 1, at, x)
BOTH(k_narrow, X; AT; const short i = (short)(base + threadIdx.x), i > -7 && i < 9, at, i)
BOTH(k_one_side, UX; AT, x < (unsigned)n, at, (int)x)
BOTH(k_even, X; AT, x > 2 && (x & 1) == 0 && x < n, at, x)
BOTH(k_far, X; AT, 2 * x > 5 && 3 * x < n, at, x)
BOTH(k_down, X; AT, n - x > 3 && 40 - x > n, at, x)
BOTH(k_fractional_sum, X; AT, (unsigned)(x + 16777216.0f) >= 16777220u && x < 60, at, x)
BOTH(k_and_row, X; const int y = threadIdx.y; AT, x < n && y < 3, at, x)
BOTH(k_or_row, X; const int y = threadIdx.y + threadIdx.z; AT, !(x >= n || y >= 3 || n < 0), at, x)
BOTH(k_four_bounds, X; const int y = blockIdx.x + threadIdx.y; const int w = (int)(n - 1u); const int h = (int)(n - 25u); AT,
     x > 0 && x < w && y > 0 && y < h, at, x)
BOTH(k_four_unsigned, UX; const unsigned y = threadIdx.y; AT, x - 1 < n - 2u && y - 1 < n - 2u, at, (int)x)
BOTH(k_from_zero, X; const int y = threadIdx.y; AT, x - 3 >= 0 && y - 1 >= 0 && x < n && y < n, at, x)
BOTH(k_only_row, X; const int y = threadIdx.y; AT, (y == 1 || y == n) && n > 0, at, x)
BOTH(k_equal, X; AT, x == n, at, x)
BOTH(k_not_equal, X; AT, x != n, at, x)
BOTH(k_equal_wraps, X; AT, base + threadIdx.x == (unsigned)n, at, x)
BOTH(k_last, X; AT, threadIdx.x == blockDim.x - 1 && threadIdx.y != 1, at, x)
BOTH(k_at_most, X; AT, base + threadIdx.x <= (unsigned)n, at, x)
BOTH(k_greater, X; AT, base + threadIdx.x > (unsigned)n, at, x)
BOTH(k_at_least, X; AT, (int)(base + threadIdx.x) >= n && x < 50, at, x)
BOTH(k_at_most_wide, X; AT, wide + threadIdx.x <= (unsigned long long)(long long)n, at, x)
BOTH(k_minus, X; AT, x - (unsigned)n < 30u, at, x)
BOTH(k_minus_base, X; AT, threadIdx.x - base <= (unsigned)n, at, x)
BOTH(k_size, X; AT; const unsigned long long i = base + threadIdx.x, i < wide, at, x)
BOTH(k_size_from, X; AT; const unsigned long long i = base + threadIdx.x, i >= wide && i + 5 < 4000000000ull, at, x)
BOTH(k_size_signed, X; AT; const long long i = (int)(base + threadIdx.x), i < n && i > -40ll, at, x)
BOTH(k_size_sum, X; AT; const long long i = (long long)(int)(base + threadIdx.x) + (long long)wide, i < n, at, x)
BOTH(k_never, X; AT, x >= n && x < n, at, x)
BOTH(k_empty, X; AT, x >= n && x < n / 2, at, x)
BOTH(k_flag_and, X; AT, flags[0] && x < n, at, x)
BOTH(k_row_or, X; AT, x < n || base == 3, at, x)
BOTH(k_row_or_bounds, X; AT, (x > 2 && x < n) || base == 3, at, x)
BOTH(k_shift, X; AT, n >= 0 && n < 32 && x < (1 << n), at, x)
BOTH(k_quotient, X; AT, n != 0 && n != -1 && x < 1000 / n, at, x)
BOTH(k_least, X; AT, x < (n < 20 ? n : 20) && x < (int)blockDim.x - 1, at, x)
// Where an index wraps around, the threads before have no flag.
BOTH(k_index_wraps, const unsigned x = threadIdx.x; const bool mine = flags[(base + x) >> 31], x >= 2 && mine && x < 900,
     base + x, (int)x + 1)
BOTH(k_indices_wrap, const unsigned x = threadIdx.x; const unsigned first = base + x; const unsigned second = base + x - 9;
     const bool mine = flags[first >> 31] & flags[second >> 31], mine, first, flags[1] + out[second + 2048])
// -5.5, -4.5, … -0.5, 0.5 are -5, -4, … 0, 0.
BOTH(k_fraction_in_index, const unsigned x = threadIdx.x; const unsigned i = (int)(x - 5.5f), x >= 5 && x < 50, x + 1000,
     out[i] + (int)i)

// Returns that come early, one after the other.
extern "C" __global__ void k_returns(int* out, int n, unsigned base, unsigned long long wide, float f,
                                     const unsigned char* flags) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < 1 || x >= n) return;
  const unsigned y = threadIdx.z * blockDim.y + threadIdx.y, width = gridDim.x * blockDim.x;
  if (y == 2) {
    return;
  }
  const unsigned i = y * width + x;
  out[i] = x;
  if (x > n / 2) return;
  out[i] += (int)i;
}
extern "C" __global__ void k_returns_twin(int* out, int n, unsigned base, unsigned long long wide, float f,
                                          const unsigned char* flags) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = threadIdx.z * blockDim.y + threadIdx.y, width = gridDim.x * blockDim.x;
  const unsigned i = y * width + x;
  if (TOLD_IF(x >= 1 && x < n && y != 2)) out[TOLD(i)] = x <= n / 2 ? x + (int)i : x;
}

// A branch in a branch, each with something of its own, and one that ends the kernel for rows.
extern "C" __global__ void k_nested(int* out, int n, unsigned base, unsigned long long wide, float f,
                                    const unsigned char* flags) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.z * blockDim.y + threadIdx.y;
  const int i = y * gridDim.x * blockDim.x + x;
  if (y > 6) return;
  if (y < 5) {
    if (x < n) out[i] = x;
  } else {
    if (x > 3) out[i] = y;
  }
}
extern "C" __global__ void k_nested_twin(int* out, int n, unsigned base, unsigned long long wide, float f,
                                         const unsigned char* flags) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.z * blockDim.y + threadIdx.y;
  const int i = y * gridDim.x * blockDim.x + x;
  if (TOLD_IF(y > 6)) return;
  if (TOLD_IF(y < 5)) {
    if (TOLD_IF(x < n)) out[i] = x;
  } else {
    if (TOLD_IF(x > 3)) out[i] = y;
  }
}

// Pointers with __restrict__, in a function and in the kernel.
__device__ void add_to(int* __restrict__ to, const unsigned char* __restrict__ from, int i, int by) {
  to[i] += from[0] + by;
}
extern "C" __global__ void k_restrict(int* __restrict__ out, int n, unsigned base, unsigned long long wide, float f,
                                      const unsigned char* __restrict__ flags) {
  X;
  AT;
  if (x < n && threadIdx.y < 3) add_to(out, flags, at, x);
}
extern "C" __global__ void k_restrict_twin(int* out, int n, unsigned base, unsigned long long wide, float f,
                                           const unsigned char* flags) {
  X;
  AT;
  if (TOLD_IF(x < n && threadIdx.y < 3)) out[TOLD(at)] += 1 + x;
}

// Between barriers, and in loops that all threads take.
extern "C" __global__ void k_shared_rows(int* out, int n, unsigned base, unsigned long long wide, float f,
                                         const unsigned char* flags) {
  __shared__ int s[1024];
  const unsigned x = threadIdx.x;
  s[x] = x * 3;
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    int v = 0;
    if (x > 0 && x < blockDim.x - 1) v = s[x - 1] + s[x + 1];
    __syncthreads();
    if (x > 1 && (int)x < n) s[x] = v + k;
    __syncthreads();
  }
  if (threadIdx.y == 0 && threadIdx.z == 0) out[blockIdx.x * blockDim.x + x] = s[x];
}
extern "C" __global__ void k_shared_rows_twin(int* out, int n, unsigned base, unsigned long long wide, float f,
                                              const unsigned char* flags) {
  __shared__ int s[1024];
  const unsigned x = threadIdx.x;
  s[x] = x * 3;
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    int v = 0;
    if (TOLD_IF(x > 0 && x < blockDim.x - 1)) v = s[x - 1] + s[x + 1];
    __syncthreads();
    if (TOLD_IF(x > 1 && (int)x < n)) s[x] = v + k;
    __syncthreads();
  }
  if (threadIdx.y == 0 && threadIdx.z == 0) out[blockIdx.x * blockDim.x + x] = s[x];
}

// A grid-stride loop that counts an unsigned number from the top around to zero.
extern "C" __global__ void k_stride_wraps(int* out, int n, unsigned base, unsigned long long wide, float f,
                                          const unsigned char* flags) {
  for (unsigned i = base + blockIdx.x * blockDim.x + threadIdx.x; i != base + 4 * blockDim.x + blockIdx.x * blockDim.x +
       threadIdx.x; i += blockDim.x) {
    if (i < 2048) out[i] = (int)i + n;
  }
}
extern "C" __global__ void k_stride_wraps_twin(int* out, int n, unsigned base, unsigned long long wide, float f,
                                               const unsigned char* flags) {
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned i = base + blockIdx.x * blockDim.x + threadIdx.x + k * blockDim.x;
    if (TOLD_IF(i < 2048)) out[TOLD(i)] = (int)i + n;
  }
}
