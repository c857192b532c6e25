// SPDX-License-Identifier: Apache-2.0

// A PyTorch operator, y += a * x, with a kernel that Weir compiles and launches. CUDA tensors use PyTorch's current stream,
// CPU tensors the host backend. saxpy.py builds and calls it.
#include <torch/extension.h>

#include <map>
#include <mutex>

#include "weir/weir.hpp"

#ifdef WITH_CUDA
#include <c10/cuda/CUDAStream.h>

#include "weir/interop/cuda.hpp"
#endif

namespace {

constexpr const char* source = R"(
extern "C" __global__ void saxpy(long long n, float a, const float* x, float* y) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})";

using Saxpy = weir::TypedKernel<void(long long, float, const float*, float*)>;

// Returns the kernel, compiled once for each device.
const Saxpy& kernel_of(weir::Device& device) {
  static std::mutex mutex;
  static std::map<weir::Device*, Saxpy> kernels;
  const std::lock_guard lock(mutex);
  Saxpy& kernel = kernels[&device];
  if (!kernel) kernel = device.compile(source)->kernel<void(long long, float, const float*, float*)>("saxpy");
  return kernel;
}

// Returns PyTorch's current stream on that device. PyTorch never destroys its streams, so no reference is needed. Wrapping a
// stream again costs two driver calls.
weir::StreamPtr current_stream(const torch::Device& device) {
#ifdef WITH_CUDA
  if (device.is_cuda()) {
    return weir::cuda::wrap(weir::cuda::device(device.index()), c10::cuda::getCurrentCUDAStream(device.index()).stream());
  }
#endif
  TORCH_CHECK(device.is_cpu(), "saxpy: there is no Weir backend for ", device.str());
  return weir::device("host").default_stream();
}

void saxpy(double a, const torch::Tensor& x, const torch::Tensor& y) {
  TORCH_CHECK(x.device() == y.device() && x.sizes() == y.sizes(), "saxpy: x and y differ in device or shape");
  TORCH_CHECK(x.scalar_type() == torch::kFloat && y.scalar_type() == torch::kFloat, "saxpy: float32 only");
  TORCH_CHECK(x.is_contiguous() && y.is_contiguous(), "saxpy: contiguous tensors only");
  const weir::StreamPtr stream = current_stream(x.device());
  const long long n = x.numel();
  stream->launch(kernel_of(stream->device()), weir::grid_for(static_cast<std::size_t>(n)), n, static_cast<float>(a),
                 static_cast<const float*>(x.data_ptr<float>()), y.data_ptr<float>());
  if (x.is_cpu()) stream->synchronize();  // PyTorch's CPU operators are complete when they return
}

// The opposite direction: returns Weir's memory as a tensor, which owns it.
torch::Tensor ones(std::int64_t n, torch::Device device) {
  const weir::StreamPtr stream = current_stream(device);
  const auto buffer = stream->device().allocate<float>(static_cast<std::size_t>(n));
  stream->fill(buffer, 1.0F);
  if (device.is_cpu()) stream->synchronize();
  return torch::from_blob(
      buffer.data(), {n}, [owner = buffer.allocation()](void*) {}, torch::device(device));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("saxpy", &saxpy);
  m.def("ones", &ones);
}
