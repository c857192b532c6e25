// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <string>
#include <string_view>

namespace entropy {
namespace {

// Each thread counts one block of the file alone. It needs no atomics and no barriers, and does the same work for all data.
//
// A thread's counts must be in fast memory. On a CPU they are on the stack, which stays in the cache. On a GPU, a thread's
// array would be in device memory. 32 threads that access 32 different lines at a time would be as slow as that memory can
// be (60 GB/s on an H200). So on a GPU the counts are in shared memory, in columns. Each word contains two 16-bit counts of
// one thread, so that each thread uses its own bank for all bins.
constexpr std::string_view source = R"(
#if INTERLEAVED
#define DECLARE_COUNTS                                \
  __shared__ unsigned short columns[256 * THREADS];   \
  unsigned short* const counts = columns + 2 * threadIdx.x;
#define COUNT(bin) counts[((bin) >> 1) * (2 * THREADS) + ((bin) & 1)]
#else
#define DECLARE_COUNTS unsigned short counts[256];
#define COUNT(bin) counts[bin]
#endif

extern "C" __global__ void block_entropy(const unsigned char* data, unsigned long long size, unsigned int block_bytes,
                                         float* entropy, unsigned int* totals, unsigned int bin_stride,
                                         unsigned int block_stride) {
  const unsigned int block = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long begin = (unsigned long long)block * block_bytes;
  if (begin >= size) return;
  const unsigned int length = size - begin < block_bytes ? (unsigned int)(size - begin) : block_bytes;

  DECLARE_COUNTS
  for (unsigned int bin = 0; bin < 256; ++bin) COUNT(bin) = 0;

  const unsigned long long* const eights = (const unsigned long long*)(data + begin);
  for (unsigned int i = 0; i < length / 8; ++i) {
    unsigned long long eight = eights[i];
    for (int k = 0; k < 8; ++k) {
      const unsigned int byte = (unsigned int)eight & 255u;
      ++COUNT(byte);
      eight >>= 8;
    }
  }
  for (unsigned int i = length & ~7u; i < length; ++i) {
    const unsigned int byte = data[begin + i];
    ++COUNT(byte);
  }

  unsigned int* const total = totals + (unsigned long long)block * block_stride;
  const float scale = 1.0f / (float)length;
  float bits = 0.0f;
  for (unsigned int bin = 0; bin < 256; ++bin) {
    const unsigned int count = COUNT(bin);
    if (count == 0) continue;
    const float share = (float)count * scale;
    bits -= share * log2f(share);
    total[(unsigned long long)bin * bin_stride] += count;
  }
  entropy[block] = bits;
}

// Adds up what each block counted in each bin: thread (bin, part) takes every `parts`-th block.
extern "C" __global__ void sum_totals(const unsigned int* totals, unsigned int blocks, unsigned int bin_stride,
                                      unsigned int block_stride, unsigned int parts, unsigned long long* sums) {
  const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= 256 * parts) return;
  const unsigned int bin = thread / parts;
  unsigned long long sum = 0;
  for (unsigned int block = thread % parts; block < blocks; block += parts) {
    sum += totals[(unsigned long long)bin * bin_stride + (unsigned long long)block * block_stride];
  }
  sums[thread] = sum;
}
)";

}  // namespace

Kernels::Kernels(weir::Device& device)
    : interleaved(device.backend().name() != "host" && device.supports(weir::Feature::block_cooperation)) {
  weir::CompileOptions options;
  options.name = "entropy.cu";
  options.defines = {{"INTERLEAVED", interleaved ? "1" : "0"}, {"THREADS", std::to_string(threads)}};
  const auto module = device.compile(source, options);
  block_entropy = module->untyped_kernel("block_entropy");
  sum_totals = module->untyped_kernel("sum_totals");
}

}  // namespace entropy
