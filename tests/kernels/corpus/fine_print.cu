// C++ rules about order of evaluation, aliases and numbers, at places where threads synchronize. Each kernel gives one
// number to each thread.

#define EVERYBODY ~0ull

// A sum of steps differs from steps that are added one by one.
extern "C" __global__ void float_stride(int* out) {
  float sum = 0;
  for (float x = threadIdx.x; x < 30.0f; x += 0.1f) sum += x;
  out[threadIdx.x] = (int)(sum * 16);
}

// The index wraps around within a row of threads.
extern "C" __global__ void narrow_stride(int* out) {
  int sum = 0;
  for (unsigned char i = threadIdx.x; i < 100; i += 64) sum += 1 + i;
  out[threadIdx.x] = sum;
}

// Functions are called from the left to the right, each with what the one before has changed.
struct Counter {
  int count;
  __device__ int next(int by) {
    count += by;
    __syncthreads();
    count += __shfl_xor_sync(EVERYBODY, count, 1);
    return count;
  }
};
extern "C" __global__ void order_of_calls(int* out) {
  Counter counter = {(int)threadIdx.x};
  const int both[2] = {counter.next(1), counter.next(2)};
  const int difference = counter.next(3) - counter.next(4) * 3;
  out[threadIdx.x] = both[0] + both[1] * 5 + difference * 7;
}

// A parameter by reference is the element itself, which the lambda changes meanwhile.
extern "C" __global__ void element_by_reference(int* out) {
  const int t = threadIdx.x;
  int a[2] = {t, 7};
  auto grow = [&](const auto& y) {
    a[0] += 100;
    return __shfl_xor_sync(EVERYBODY, y, 1) + y;
  };
  auto add = [&](auto& y) { y += __shfl_xor_sync(EVERYBODY, y, 1); };
  const int grown = grow(a[0]);
  add(a[1]);
  out[t] = grown * 100 + a[1];
}

// Operators of a class that change its object.
struct Sink {
  int sum;
  __device__ void operator()(int x) { sum += x; }
};
__device__ Sink& operator<<(Sink& s, int x) {
  s.sum += x;
  return s;
}
extern "C" __global__ void operators(int* out, int n) {
  Sink shifted = {n}, called = {n};
  shifted << (int)threadIdx.x;
  called(2 * threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = shifted.sum * 1000 + called.sum;
}

// A lambda that is used before and behind a barrier refers to variables declared before it.
extern "C" __global__ void lambda_of_references(int* out, int n) {
  int u = threadIdx.x;
  int& r = u;
  auto add = [&](int x) { return u += x; };
  auto add_by_name = [&r](int x) { return r += x; };
  const int a = add(n) + add_by_name(1);
  __syncthreads();
  const int b = add(n);
  const int c = add_by_name(2);
  out[threadIdx.x] = a + b * 10 + c * 100 + u * 1000;
}

// Scopes of a lambda in which threads meet: each name means the nearest variable, also where the lambda is called.
extern "C" __global__ void scopes_of_lambda(int* out) {
  int i = 7, x = threadIdx.x;
  auto f = [&](int y) {
    for (int i = 0; i < 3; i++) y += __shfl_xor_sync(EVERYBODY, y, 1);
    {
      y += x;
      int x = y + i, y = 100;
      x += __shfl_xor_sync(EVERYBODY, x, 1) + y;
      i = x;
    }
    x += 1;
    return y + x;
  };
  int sum = 0;
  for (int n = 0; n < 2; n++) {
    const int value = f(n);
    sum += value + i;
  }
  out[threadIdx.x] = sum + x * 3;
}
// The same without a lambda's help.
extern "C" __global__ void scopes_of_plain(int* out) {
  int i = 7, x = threadIdx.x, sum = 0;
  for (int n = 0; n < 2; n++) {
    int a = n;
    for (int k = 0; k < 3; k++) a += __shfl_xor_sync(EVERYBODY, a, 1);
    a += x;
    int inner = a + i;
    inner += __shfl_xor_sync(EVERYBODY, inner, 1) + 100;
    i = inner;
    x += 1;
    sum += a + x + i;
  }
  out[threadIdx.x] = sum + x * 3;
}

template <class T, bool across>
__device__ T warp_sum(T v) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    v += across ? __shfl_xor_sync(EVERYBODY, v, distance) : T(0);
  return v;
}
// Behind ?:, with template arguments that convert.
extern "C" __global__ void chosen_sum(int* out, int n) {
  const int lane = threadIdx.x % warpSize;
  out[threadIdx.x] = (int)(2 * (n > 1 ? warp_sum<double, true>(lane) / 4 : warp_sum<int, false>(1)));
}

// Arguments by reference to something constant that have no address of their own, or none that outlives a meeting.
struct Fields {
  int low : 5, high : 12;
  __device__ int operator[](int i) const { return high + i; }
};
extern "C" __global__ void addressless(int* out) {
  Fields fields = {3, (int)threadIdx.x};
  auto both = [&](const int& i) {
    int sum = i;
    __syncthreads();
    sum += __shfl_xor_sync(EVERYBODY, i, 1);
    return sum * 2 + (int)threadIdx.x;
  };
  auto any = [&](const auto& i) {
    __syncthreads();
    return __shfl_xor_sync(EVERYBODY, (int)i, 1) + (int)i;
  };
  out[threadIdx.x] = both(threadIdx.x) + both(fields.high) * 10 + both(fields[3]) * 100 + any(threadIdx.x) * 1000;
}

// What ?: chooses and changes differs among threads behind it.
struct Box {
  int value;
  __device__ void put(int x) { value = x; }
  __device__ void operator()(int x) { value = x; }
};
__device__ void increase(int& x) { ++x; }
extern "C" __global__ void changed_by_choice(int* out) {
  const int t = threadIdx.x;
  int a = t, b = 3, c = 0;
  Box put = {1}, called = {2}, other = {t};
  increase(t > 5 ? a : b);
  (t > 5 ? other : put).put(5);
  (t > 5 ? other : called)(6);
  auto place = [&]() -> int& { return c; };
  if (t > 7) place() = 9;
  __syncthreads();
  out[t] = a + b * 100 + c * 1000 + put.value * 10000 + called.value * 100000;
}

// A function of an object that is given a part of it, by reference, and changes it meanwhile.
struct Tally {
  int count, sum;
  __device__ int add(const int& x) {
    count += 10;
    sum += __shfl_xor_sync(EVERYBODY, sum, 1) + x;
    return x;
  }
  __device__ void merge(const Tally& other) {
    sum += __shfl_xor_sync(EVERYBODY, other.sum, 1);
    count += other.count;
  }
};
extern "C" __global__ void part_of_object(int* out) {
  Tally a = {(int)threadIdx.x, 1};
  Tally* const p = &a;
  const int first = a.add(a.count), second = p->add(p->count);
  a.merge(a);
  out[threadIdx.x] = first + second * 1000 + a.count * 100000 + a.sum;
}

// Functions of a namespace have names of the language's own.
namespace warp {
__device__ int max(int x) {
  for (int o = warpSize / 2; o > 0; o /= 2) x = ::max(x, __shfl_xor_sync(EVERYBODY, x, o));
  return x;
}
__device__ int twice(int x) { return max(x) + ::max(x, 3); }
}  // namespace warp
extern "C" __global__ void own_maximum(int* out) {
  const int t = threadIdx.x;
  out[t] = warp::max(t & 15) * 10000 + warp::twice(t & 15) * 100 + max(t, 3);
}

// Several pointers to rows in one declaration.
extern "C" __global__ void rows_of_rows(int* out) {
  __shared__ int rows[2][32];
  rows[threadIdx.x / 32][threadIdx.x % 32] = threadIdx.x;
  __syncthreads();
  int (*first)[32] = rows, (*second)[32];
  int sum = 0;
  second = rows + 1;
  for (int (*a)[32] = first, (*b)[32] = second; a < second; ++a, --b) {
    sum += a[0][threadIdx.x % 32] * 100 + b[0][1];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// Which memory an address is in: 1 for shared, 2 for local, 4 for global.
__device__ int in_global;
__device__ __noinline__ int memory_of(const void* p) { return __isShared(p) + 2 * __isLocal(p) + 4 * __isGlobal(p); }
template <class Meet>
__device__ int memory_places(int* out, Meet meet) {
  __shared__ int fixed[64];
  extern __shared__ int dynamic[];
  const int t = threadIdx.x;
  int own[2] = {t, 1}, kept[2] = {2 * t, 3};
  fixed[t] = dynamic[t] = t;
  const int before = memory_of(&own[t & 1]);
  meet();
  *(int*)__cvta_shared_to_generic((unsigned)__cvta_generic_to_shared(&fixed[t ^ 1])) += 1000;
  *(int*)__cvta_global_to_generic(__cvta_generic_to_global(&out[t])) = kept[t & 1];
  meet();
  if (out[t] != kept[t & 1] || fixed[t] != t + 1000) return -1;
  const int own_memory = before * 8 + memory_of(&kept[t & 1]), shared = memory_of(&fixed[t]) * 8 + memory_of(&dynamic[t]);
  return own_memory * 4096 + shared * 64 + memory_of(out) * 8 + memory_of(&in_global);
}
// Neither address has memory behind it.
extern "C" __global__ void memory_of_ends(int* out) {
  __shared__ int fixed[64];
  extern __shared__ int dynamic[];
  fixed[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = memory_of(dynamic) * 8 + memory_of(fixed + 64) + 100 * fixed[threadIdx.x ^ 1];
}
extern "C" __global__ void memory_of_block(int* out) {
  out[threadIdx.x] = memory_places(out, [] { __syncthreads(); });
}
extern "C" __global__ void memory_of_warps(int* out) {
  const int places = memory_places(out, [] { __syncwarp(); });
  out[threadIdx.x] = __shfl_xor_sync(EVERYBODY, places, 1);
}

// Objects that have the same value in all threads at first, and that each thread then changes: by an operator or a
// conversion of their class, or through another object that refers to them.

struct Cell {
  int x;
  __device__ int& operator[](int i) {
    x += i;
    return x;
  }
  __device__ int operator*() { return x++; }
  __device__ operator bool() { return (x++ & 1) != 0; }
  __device__ Cell* operator->() {
    x += 2;
    return this;
  }
  __device__ friend int operator/(int i, Cell& c) { return c.x -= i; }
};
__device__ Cell& operator|(Cell& c, int i) {
  c.x += i;
  return c;
}

extern "C" __global__ void changed_by_operators(int* out) {
  const int t = threadIdx.x;
  Cell element = {3}, followed = {5}, asked = {7}, member = {9}, divided = {11}, combined = {13};
  auto grouped = Cell{15};
  int sum = element[t];
  if (t > 2) sum += *followed;
  if (t > 4 && asked) sum += 1;
  if (t > 6) sum += member->x;
  sum += t / divided;
  combined | t;
  (t > 8 ? grouped : combined) | 100;
  __syncthreads();
  out[t] = sum + element.x + followed.x + asked.x + member.x + divided.x + combined.x * 1000 + grouped.x * 100000;
}

struct Adder {
  int& sum;
  __device__ void add(int x) { sum += x; }
};
struct Restore {
  int& place;
  int saved;
  __device__ explicit Restore(int& x) : place(x), saved(x) {}
  __device__ ~Restore() { place = saved + (int)threadIdx.x; }
};
struct Point {
  int x, y[2];
  __device__ void move(int by) { x += by; }
};

extern "C" __global__ void changed_by_others(int* out) {
  const int t = threadIdx.x;
  int added = 3, restored = 5, listed = 7, kept = 9;
  Adder adder{added};
  Adder adders[2] = {{listed}, {listed}};
  Adder keeper{kept};
  adder.add(t);
  {
    Restore restore(restored);
    restored = 100 * t;
  }
  adders[t & 1].add(2 * t);
  Point grouped = {1, {2, 3}};
  (grouped).x += t;
  (grouped).y[1] = t;
  (grouped).move(t);
  __syncthreads();
  keeper.add(t);  // refers to a variable that nothing names here
  out[t] = added + restored * 100 + listed * 10000 + keeper.sum * 1000000 + grouped.x + grouped.y[1];
}
