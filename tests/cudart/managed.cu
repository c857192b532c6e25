// SPDX-License-Identifier: Apache-2.0
__managed__ int count;
int main() { return count; }
