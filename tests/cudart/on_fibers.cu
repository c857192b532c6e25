// SPDX-License-Identifier: Apache-2.0
// The threads of the first kernel wait for each other at a lock; those of the second do not.
__global__ void count(int* lock, int* number) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) != 0) continue;
    ++*number;
    __threadfence();
    atomicExch(lock, 0);
    done = true;
  }
}
__global__ void add(int* number) { atomicAdd(number, 1); }

int main() { return 0; }
