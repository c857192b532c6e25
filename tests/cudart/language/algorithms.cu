// SPDX-License-Identifier: Apache-2.0
// The standard library in the host code of a file with kernels.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <complex>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "check.h"

__global__ void square(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= data[i];
}

int main() {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> distribution(0, 1);
  std::vector<float> v(1000), expected;
  std::generate(v.begin(), v.end(), [&] { return distribution(generator); });
  for (float x : v) expected.push_back(x * x);
  float* data;
  CHECK_CALL(cudaMalloc((void**)&data, v.size() * sizeof(float)));
  CHECK_CALL(cudaMemcpy(data, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
  square<<<(int(v.size()) + 255) / 256, 256>>>(data, int(v.size()));
  CHECK_CALL(cudaMemcpy(v.data(), data, v.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(v == expected);
  std::sort(v.begin(), v.end(), std::greater<float>());
  CHECK(std::is_sorted(v.rbegin(), v.rend()) && *std::max_element(v.begin(), v.end()) == v[0]);
  CHECK(std::accumulate(v.begin(), v.end(), 0.0) > 0 && std::inner_product(v.begin(), v.end(), v.begin(), 0.0) > 0);
  std::map<std::string, int> names;
  std::unordered_map<int, std::shared_ptr<int>> shared;
  names["one"] = 1;
  shared[1] = std::make_shared<int>(5);
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << names["one"] + *shared[1] + std::abs(std::complex<double>(3, 4))
       << std::endl;
  CHECK(text.str() == "11.00\n");
  std::atomic<int> count(0);
  std::mutex mutex;
  std::thread thread([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    count.fetch_add(3);
  });
  thread.join();
  const auto start = std::chrono::high_resolution_clock::now();
  const std::chrono::duration<double> time = std::chrono::high_resolution_clock::now() - start;
  CHECK(count == 3 && time.count() >= 0);
  const std::function<int(int)> twice = [](int x) { return 2 * x; };
  CHECK(twice(4) == 8);
  return cudaFree(data);
}
