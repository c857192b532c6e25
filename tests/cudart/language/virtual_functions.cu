// SPDX-License-Identifier: Apache-2.0
// Objects with virtual functions that a kernel makes, uses and deletes; abstract bases; new and delete in device code.
#include "check.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Box : Square {
  float height;
  __device__ Box(float s, float h) : Square(s), height(h) {}
  __device__ ~Box() override {}
  __device__ float area() const override { return 2 * Square::area() + 4 * side * height; }
};

__global__ void make(Shape** shapes) {
  shapes[0] = new Square(3);
  shapes[1] = new Box(1, 2);
}
__global__ void measure(Shape** shapes, float* out) { out[threadIdx.x] = shapes[threadIdx.x]->area(); }
__global__ void remove(Shape** shapes) { delete shapes[threadIdx.x]; }
__global__ void many(int* out) {
  int* const own = new int[10];
  for (int i = 0; i < 10; ++i) own[i] = i;
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += own[i];
  delete[] own;
  char memory[sizeof(Square)];
  const Square* const placed = new (memory) Square(2);
  out[threadIdx.x] = sum + int(placed->side);
}

int main() {
  Shape** shapes;
  CHECK_CALL(cudaMalloc((void**)&shapes, 2 * sizeof(Shape*)));
  Numbers<float, 2> areas;
  make<<<1, 1>>>(shapes);
  measure<<<1, 2>>>(shapes, areas.device);
  remove<<<1, 2>>>(shapes);
  CHECK(areas.read()[0] == 9 && areas.host[1] == 10);
  Numbers<int, 64> sums;
  many<<<1, 64>>>(sums.device);
  CHECK(sums.read()[63] == 47);
  CHECK_KERNEL();
  return cudaFree(shapes);
}
