// SPDX-License-Identifier: Apache-2.0
// PTX that the CPU does not have, which the compiler refuses at its line.
__global__ void extract(unsigned int* x) { asm("bfe.u32 %0, %1, 4, 8;" : "=r"(x[0]) : "r"(x[1])); }
int main() { return 0; }
