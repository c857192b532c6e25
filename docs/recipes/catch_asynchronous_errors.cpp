// SPDX-License-Identifier: Apache-2.0
//
// How do I catch errors that happen on the device later?
//
// A kernel that fails does so when it runs. The error comes out of the next call that waits: `synchronize`, `read`, or
// `is_complete`. It is `device_fault`. On CUDA the process has then lost the device: report it and end. `synchronize` behind
// each launch, in a debug build, tells which one failed. Before ROCm 7.0 AMD's runtime ends the process.
#include <cstdio>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void fail() {
#ifdef __WEIR_HOST__
  if (threadIdx.x == 0) __syncthreads();  // the other threads never come
#else
  __trap();
#endif
})";

int main() {
  weir::Device& device = weir::default_device();
  if (device.backend().name() == "hip") return 77;  // skipped: may end the process
  const auto fail = device.compile(source)->kernel("fail");
  const auto stream = device.create_stream();
  stream->launch(fail, {1, 32});  // enqueued, and no error yet
  try {
    stream->synchronize();
  } catch (const weir::Error& error) {
    std::printf("%s\n", error.what());
    return error.errc() == weir::Errc::device_fault ? 0 : 1;
  }
  return 1;
}
