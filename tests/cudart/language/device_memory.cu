// SPDX-License-Identifier: Apache-2.0
// malloc, free, memcpy, memset, new and delete in kernels; memory that one kernel makes and another one deletes.
#include <cstring>
#include <new>

#include "check.h"

struct Node {
  int value;
  Node* next;
  __device__ Node(int v, Node* n) : value(v), next(n) {}
};
__device__ Node* list;

__global__ void build(int n) {
  for (int i = 0; i < n; ++i) list = new Node(i, list);
}
__global__ void sum(int* out) {
  int total = 0;
  while (list != nullptr) {
    Node* const node = list;
    total += node->value;
    list = node->next;
    delete node;
  }
  *out = total;
}
__global__ void own(int* out) {
  int* const data = (int*)malloc(16 * sizeof(int));
  if (data == nullptr) return;
  memset(data, 0, 16 * sizeof(int));
  const int source[4] = {1, 2, 3, int(threadIdx.x)};
  memcpy(data + 4, source, sizeof(source));
  std::memcpy(data + 8, data + 4, sizeof(source));
  int total = 0;
  for (int i = 0; i < 16; ++i) total += data[i];
  out[threadIdx.x] = total;
  free(data);
}

int main() {
  Numbers<int, 32> out;
  build<<<1, 1>>>(100);
  sum<<<1, 1>>>(out.device);
  CHECK(out.read()[0] == 4950);
  own<<<1, 32>>>(out.device);
  CHECK_KERNEL();
  for (int i = 0; i < 32; ++i) CHECK(out.read()[i] == 12 + 2 * i);
  return 0;
}
