// SPDX-License-Identifier: Apache-2.0
//
// How do I catch errors that happen on the device later?
//
// A kernel fails when it runs, and not when it is launched. The next `synchronize` or `read` throws the error,
// `device_fault`; on a GPU so does `is_complete`. On CUDA the process can no longer use the device: report the error and
// end. To find the launch that failed, call `synchronize` after each one in a debug build. Before ROCm 7.0 AMD's runtime
// itself ends the process.
#include <cstdio>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void fail(int n) { assert(n > 0); })";

int main() {
  weir::Device& device = weir::default_device();
  if (device.backend().name() == "hip") return 77;  // skipped: may end the process
  const auto fail = device.compile(source)->untyped_kernel("fail");
  const auto stream = device.create_stream();
  stream->launch(fail, {1, 32}, 0);  // enqueued, and no error yet
  try {
    stream->synchronize();
  } catch (const weir::Error& error) {
    std::printf("%s\n", error.what());
    return error.errc() == weir::Errc::device_fault ? 0 : 1;
  }
  return 1;
}
