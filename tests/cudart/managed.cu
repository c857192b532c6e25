// SPDX-License-Identifier: Apache-2.0
__managed__ int count;
namespace here {
int* count_of = &count;
}
int main() { return *here::count_of; }
