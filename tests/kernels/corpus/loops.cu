// Loops over a thread's own data, in which each thread has its own bounds.
#include <cooperative_groups.h>

#define BLOCK 64

// A bound that a function tells each thread.
__device__ int ownLimit() { return threadIdx.x == 5 ? 0 : 1000; }
extern "C" __global__ void k_own_bound(int* out) {
  const int limit = ownLimit();
  int count = 0;
  for (int i = threadIdx.x; i < limit; i += BLOCK) ++count;
  out[threadIdx.x] = count;
}

// A bound that is a parameter of a function in which threads meet.
__device__ int strided(int limit) {
  int count = 0;
  for (int i = threadIdx.x; i < limit; i += BLOCK) ++count;
  __syncthreads();
  return count;
}
extern "C" __global__ void k_bound_by_parameter(int* out) { out[threadIdx.x] = strided(threadIdx.x == 5 ? 0 : 1000); }

// Kernels of one name of which one has a loop: specializations of a template, and in two namespaces. And one in which threads meet.
template <class T> __global__ void numbered(int* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 1;
}
template <> __global__ void numbered<float>(int* out, int n) { out[threadIdx.x] = n + threadIdx.x; }
template __global__ void numbered<int>(int*, int);
template __global__ void numbered<float>(int*, int);
namespace one { __global__ void same(int* out, int n) { out[threadIdx.x] = n - threadIdx.x; } }
namespace two {
__global__ void same(int* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2;
}
}
template <int N> __global__ void turned(int* out, int n) { out[threadIdx.x] = N; }
template <> __global__ void turned<3>(int* out, int n) {
  __shared__ int s[BLOCK];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
template __global__ void turned<2>(int*, int);
template __global__ void turned<3>(int*, int);

// What the loop begins with changes while it runs: by a function, by a reference, by a method.
struct Cursor {
  int at;
  __device__ void next() { at += 1000; }
};
__device__ void advance(int& x) { x += 1000; }
extern "C" __global__ void k_moving_start(int* out) {
  const int t = threadIdx.x;
  int start = t, other = t, sum = 0;
  int& alias = other;
  Cursor cursor{t};
  for (int i = start; i < 1000; i += BLOCK) {
    advance(start);
    sum += i;
  }
  for (int i = other; i < 1000; i += BLOCK) {
    alias += 1000;
    sum += i;
  }
  for (int i = cursor.at + 0 * t; i < 1000; i += BLOCK) {
    cursor.next();
    sum += i;
  }
  out[t] = sum;
}

// Grids of which blocks may run as one, and one where the threads' places in their blocks matter.
#define ROW (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" __global__ void k_by_row(int* out, int n) {
  const int i0 = ROW, step = blockDim.x * gridDim.x;
  for (int i = i0; i < n; i += step) out[i] += i + blockDim.x * 3 + gridDim.x * 7;
}
__device__ int placeInBlock() { return threadIdx.x; }
extern "C" __global__ void k_by_place(int* out, int n) {
  for (int i = ROW; i < n; i += blockDim.x * gridDim.x) out[i] += threadIdx.x;
}
extern "C" __global__ void k_by_function(int* out, int n) {
  for (int i = ROW; i < n; i += blockDim.x * gridDim.x) out[i] += placeInBlock();
}
extern "C" __global__ void k_by_group(int* out, int n) {
  const cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
  for (int i = ROW; i < n; i += blockDim.x * gridDim.x) out[i] += block.thread_rank();
}

// The same loop in the words of different people. Each adds to the elements that its threads own, once.
__device__ int worth(int i) { return i * 3 + 1; }
extern "C" __global__ void k_form_while(int* out, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  while (i < n) {
    out[i] += worth(i);
    i += blockDim.x * gridDim.x;
  }
}
extern "C" __global__ void k_form_empty_first(int* out, int n) {
  int i = ROW, stride = gridDim.x * blockDim.x;
  if (i >= n) return;
  for (; i < n; i = i + stride) out[i] += worth(i);
}
extern "C" __global__ void k_form_declared_on_top(int* out, int n) {
  int i, k;
  for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i = gridDim.x * blockDim.x + i) {
    for (k = 0; k < 3; ++k) out[i] += i;
  }
  __syncthreads();
  for (i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += gridDim.x * blockDim.x) out[i] += 1;
}
#define KERNEL_LOOP(i, n)                                                        \
  long long i##_all = ((long long)blockIdx.x) * blockDim.x + threadIdx.x;        \
  for (int i = i##_all; i##_all < (n); i##_all += ((long long)blockDim.x) * gridDim.x, i = i##_all)
extern "C" __global__ void k_form_two_counters(int* out, int n) {
  KERNEL_LOOP(i, n) {
    if (i % 3 == 0) {
      out[i] += worth(i);
      continue;
    }
    out[i] += worth(i);
  }
}
extern "C" __global__ void k_form_base(int* out, int n) {
  const int base = blockIdx.x * blockDim.x;
  for (int i = base + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] += worth(i);
}
extern "C" __global__ void k_form_auto(int* out, int n) {
  for (auto i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] += worth(i);
}
extern "C" __global__ void k_form_rows(int* out, int n) {
  const int columns = 100;
  for (int row = blockIdx.x; row < (n + columns - 1) / columns; row += gridDim.x) {
    int c = threadIdx.x;
    while (c < columns && row * columns + c < n) {
      out[row * columns + c] += worth(row * columns + c);
      c += blockDim.x;
    }
  }
}

// What only looks like such a loop. Each gives out[t] of block 0.
extern "C" __global__ void k_ends_where(int* out, int n) {
  int i = threadIdx.x, turns = 0;
  while (i < n) {
    ++turns;
    i += BLOCK;
  }
  out[threadIdx.x] = turns * 100000 + i;  // it is read behind the loop
}
extern "C" __global__ void k_seen_by_lambda(int* out, int n) {
  int i = threadIdx.x, sum = 0;
  const auto at = [&] { return i; };
  for (; i < n; i += BLOCK) sum += at();
  out[threadIdx.x] = sum;
}
extern "C" __global__ void k_seen_by_pointer(int* out, int n) {
  int i = threadIdx.x, sum = 0, *p = &i;
  for (; i < n; i += BLOCK) sum += *p;
  out[threadIdx.x] = sum;
}
extern "C" __global__ void k_step_of_body(int* out, int n) {
  int i = threadIdx.x, sum = 0, step = 1;
  while (i < n) {
    const int step = BLOCK * (1 + i % 2);
    sum += i;
    i += step;
  }
  out[threadIdx.x] = sum + step;
}
extern "C" __global__ void k_name_hidden(int* out, int n) {
  const int first = threadIdx.x;
  int sum = 0;
  {
    int i = first;
    const int first = 7;
    for (; i < n; i += BLOCK) sum += i * first;
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void k_leaves_early(int* out, int n) {
  int i = threadIdx.x, sum = 0;
  while (i < n) {
    sum += i;
    if (sum > 1000) break;
    i += BLOCK;
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void k_below_zero(int* out, int n) {
  int sum = 0;
  for (unsigned i = threadIdx.x - 5; i < (unsigned)n; i += BLOCK) sum += i;  // it begins with large numbers
  out[threadIdx.x] = sum;
}

// Loops of which all threads take the same turns. The threads of a row may take them in step.
extern "C" __global__ void k_plain_product(const int* a, const int* b, int* out, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && column < n) {
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    out[row * n + column] = sum;
  }
}
extern "C" __global__ void k_old_product(const int* a, const int* b, int* out, int n) {
  int tx = threadIdx.x, ty = threadIdx.y, k, sum = 0;
  int column = blockIdx.x * blockDim.x + tx, row = blockIdx.y * blockDim.y + ty;
  if (row >= n || column >= n) return;
  for (k = n - 1; k >= 0; k--) sum += a[row * n + k] * b[k * n + column];
  out[row * n + column] = sum;
}
extern "C" __global__ void k_product_of_pointers(const int* a, const int* b, int* out, int n) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= n || row >= n) return;
  const int* const line = a + row * n;
  const int* const below = b + column;
  int* const to = &out[row * n + column];
  *to = 0;
  for (unsigned k = 0; k < n; k += 2) {
    const int second = k + 1 < n ? line[k + 1] * below[(k + 1) * n] : 0;
    *to += line[k] * below[k * n] + second;
  }
}
// Each cell: the weighted sum of those around it, where there are any; in a row that not all threads have.
extern "C" __global__ void k_around(const int* in, int* out, int n, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y < n) {
    int sum = 0, met = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
      for (int dx = -radius; dx <= radius; ++dx) {
        const int at_x = x + dx, at_y = y + dy;
        if (at_x >= 0 && at_x < n && at_y >= 0 && at_y < n) {
          sum += in[at_y * n + at_x] * (dx + 2 * dy);
          ++met;
        }
      }
      sum += met;
    }
    if (x < n) out[y * n + x] = sum;
  }
}

// What else must stay each thread's own affair. out[t] of block 0.
extern "C" __global__ void k_condition_counts(int* out, int n) {
  int sum = 0, left = 5;
  for (int i = threadIdx.x; i < n && 0 < left--; i += BLOCK) sum += i;
  out[threadIdx.x] = sum + left;
}
extern "C" __global__ void k_counts_down(int* out, int n) {
  int sum = 0, left = 7;
  for (int k = 0; k < n; ++k) {
    if (left-->3) sum += 1;
    sum += k % 2;
  }
  out[threadIdx.x] = sum + left;
}
extern "C" __global__ void k_steps_down(int* out, int n) {
  int turns = 0;
  const unsigned bound = n;
  const int step = -3;
  for (unsigned i = threadIdx.x; i < bound; i += step) ++turns;
  out[threadIdx.x] = turns;
}
extern "C" __global__ void k_name_in_two_scopes(int* out, int n) {
  int sum = 0;
  {
    int s = threadIdx.x;
    sum += s;
  }
  {
    int s = threadIdx.x * 7 % 64;
    for (int i = s; i < n; i += BLOCK) sum += i;
  }
  out[threadIdx.x] = sum;
}
#define BUMP(x) ((x)++)
extern "C" __global__ void k_start_moves(int* out, int n) {
  int2 range = make_int2(0, n);
  int base = 1, sum = 0, other = 2, third = 3;
  for (int i = range.x + threadIdx.x; i < range.y; i += BLOCK) {
    sum += i;
    range.x += 1;
  }
  for (int i = base + threadIdx.x; i < n; i += BLOCK) {
    sum += i;
    BUMP(base);
  }
  for (int i = threadIdx.x + other; i < n; i += BLOCK) {
    sum += i;
    (i % 2 ? other : third) += 1;
  }
  out[threadIdx.x] = sum;
}
extern "C" __global__ void k_counter_seen(int* out, int n) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += BLOCK) {
    decltype(i) j = i;
    j += 2;
    sum += j;
  }
  out[threadIdx.x] = sum;
}

// Between barriers: loops of which all threads take the same turns, and one that a few threads take.
extern "C" __global__ void k_between_barriers(const int* in, int* out, int n) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  int sum = 0, few = 0;
  for (int t = 0; t < 3; ++t) {
    s[i] = in[t * 64 + i];
    __syncthreads();
    for (int k = 0; k < n; ++k) sum += s[k] * (i + 1);
    if (t < n) {
      for (int k = t; k < n; ++k) sum -= in[k * 64 + i];
    }
    if (i < 5) {
      for (int k = 0; k < n; ++k) few += s[k];
    }
    const int turns = s[t] & 7;
    for (int k = 0; k < turns; ++k) sum += s[k + i / 2];
    __syncthreads();
  }
  out[i] = sum * 3 + few;
}

constexpr int shift = 5, offset = 7;
extern "C" __global__ void k_constants_hidden(int* out, int n) {
  int sum = offset;
  int offset = n % 9;
  sum += 10 * offset;
  int shift = 3;
  for (int i = threadIdx.x + shift; i < n; i += BLOCK) {
    sum += i;
    shift += 1;
  }
  __syncthreads();
  out[threadIdx.x] = sum + 100 * offset;
}
extern "C" __global__ void k_step_is_no_whole_number(int* out, int n) {
  const auto step = 1.5f;
  int turns = 0;
  for (int i = (int)threadIdx.x - 16; i < n; i += step) ++turns;
  out[threadIdx.x] = turns;
}
extern "C" __global__ void k_wide_copy_of_counter(int* out, int n) {
  unsigned k = threadIdx.x;
  const unsigned bound = n;
  long long sum = 0;
  for (long long i = k; k < bound; k += -1, i = k) sum += i;
  out[threadIdx.x] = (int)sum;
}
extern "C" __global__ void k_captured_by_another_name(int* out, int n) {
  int sum = 0;
  const auto add = [&all = sum](int x) { all += x; };
  for (int i = threadIdx.x; i < n; i += BLOCK) add(i);
  __syncthreads();
  out[threadIdx.x] = sum;
}
struct Bump {
  __device__ void operator()(int& x) const { x += 1; }
};
extern "C" __global__ void k_counter_changed_by_object(int* out, int n) {
  const Bump bump{};
  int turns = 0;
  for (int i = threadIdx.x; i < n; i += BLOCK) {
    bump(i);
    turns += i;
  }
  __syncthreads();
  out[threadIdx.x] = turns;
}

// A thread owns pairs: from, also and to may be one array.
extern "C" __global__ void k_pairs(const int* from, int* also, int* to, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    to[2 * i] = from[2 * i] + 1;
    to[2 * i + 1] = from[2 * i] * 3 + also[2 * i + 1];
  }
}
extern "C" __global__ void k_pairs_behind_barrier(const int* from, int* also, int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  if (i < n) {
    to[2 * i] = from[2 * i] + 1;
    to[2 * i + 1] = from[2 * i] * 3 + also[2 * i + 1];
  }
}
