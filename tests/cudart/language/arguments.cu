// SPDX-License-Identifier: Apache-2.0
// Arguments of all sizes: structs of odd sizes, which the host's ABI splits into registers or passes in memory, arrays in
// structs, bool, small integers, vectors, enums, references to const in templates, pointers to pointers; and classes with
// constructors, assignments and destructors of their own, of which the device gets the bytes.
#include "check.h"

struct Three {
  char a, b, c;
};
struct Five {
  char a[5];
};
struct Mixed {
  float f;
  char c;
  double d;
};
struct Floats {
  float x, y, z;
};
struct Large {
  int n[40];
};
struct alignas(32) Aligned {
  int n;
};
enum class Kind : unsigned char { none, some };
struct Bits {
  unsigned a : 3, b : 9;
  bool yes;
};

__global__ void take(bool yes, Three three, char c, Five five, short s, Mixed mixed, float3 v, Floats floats, Large large,
                     uchar4 color, Kind kind, Aligned aligned, long long big, float4 w, Bits bits, double d, double* out) {
  out[0] = yes;
  out[1] = three.a * 100 + three.b * 10 + three.c;
  out[2] = c;
  out[3] = five.a[0] * 10 + five.a[4];
  out[4] = s;
  out[5] = mixed.f + mixed.c + mixed.d;
  out[6] = v.x + v.y * 10 + v.z * 100;
  out[7] = floats.x + floats.y * 10 + floats.z * 100;
  out[8] = large.n[0] + large.n[39];
  out[9] = color.x + color.w;
  out[10] = kind == Kind::some;
  out[11] = aligned.n;
  out[12] = double(big);
  out[13] = w.x + w.y + w.z + w.w;
  out[14] = bits.a * 1000 + bits.b + bits.yes;
  out[15] = d;
}

struct Copied {
  int n, more[4];
  __host__ __device__ Copied(int v) : n(v), more{v + 1, v + 2, v + 3, v + 4} {}
  __host__ __device__ Copied(const Copied& other) : n(other.n) {
    for (int i = 0; i < 4; ++i) more[i] = other.more[i];
  }
};
template <class T>
class Pool {
 public:
  Pool() {}
  ~Pool() {}
  Pool& operator=(const Pool& other) {
    memory = other.memory;
    return *this;
  }
  __device__ T& operator[](int i) { return memory[i]; }
  T* memory;
};
struct alignas(64) Wide {
  double d[8];
  __host__ __device__ ~Wide() {}
};

// Each thread has its own copy of a parameter, which it may change.
__global__ void take_classes(int n, Pool<double> pool, Copied copied, const Wide wide) {
  const int i = threadIdx.x;
  copied.n += i;
  for (int k = 0; k < n; ++k) copied.more[k % 4] += i;
  pool[i] = copied.n * 1000 + copied.more[2] + wide.d[i] + copied.more[i & 3] * 0.001953125;
}

int main() {
  Numbers<double, 16> out;
  Large large = {};
  large.n[0] = 4, large.n[39] = 38;
  Bits bits = {5, 300, true};
  take<<<1, 1>>>(true, Three{1, 2, 3}, 'c', Five{{1, 0, 0, 0, 5}}, short(-9), Mixed{0.5f, 2, 4.25}, make_float3(1, 2, 3),
                 Floats{4, 5, 6}, large, make_uchar4(200, 0, 0, 55), Kind::some, Aligned{77}, 1LL << 40,
                 make_float4(1, 2, 3, 4), bits, 0.125, out.device);
  CHECK_KERNEL();
  const double expected[] = {1, 123, 'c', 15, -9, 6.75, 321, 654, 42, 255, 1, 77, double(1LL << 40), 10, 5301, 0.125};
  for (int i = 0; i < 16; ++i) CHECK(out.read()[i] == expected[i]);
  Pool<double> pool;
  pool.memory = out.device;
  Wide wide;
  for (int i = 0; i < 8; ++i) wide.d[i] = i * 0.25;
  take_classes<<<1, 8>>>(3, pool, Copied(7), wide);
  CHECK_KERNEL();
  for (int i = 0; i < 8; ++i) {
    const int more[] = {8 + i, 9 + i, 10 + i, 11};
    CHECK(out.read()[i] == (7 + i) * 1000 + more[2] + i * 0.25 + more[i & 3] * 0.001953125);
  }
  return 0;
}
