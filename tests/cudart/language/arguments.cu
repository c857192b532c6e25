// SPDX-License-Identifier: Apache-2.0
// Arguments of all sizes: structs of odd sizes, which the host's ABI splits into registers or passes in memory, arrays in
// structs, bool, small integers, vectors, enums, references to const in templates, pointers to pointers.
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
  return 0;
}
