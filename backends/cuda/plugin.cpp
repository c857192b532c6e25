// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api.hpp"
#include "backends/gpu/backend.hpp"
#include "weir/plugin/plugin.hpp"

/// Registers the CUDA backend as a plugin.
namespace {

weir::Backend* create(weir::PluginContext& context) {
  return new weir::gpu::GpuBackend<weir::cuda::Api>(weir::cuda::Api::load(context));
}

}  // namespace

WEIR_PLUGIN("cuda", WEIR_VERSION_STRING, create)
WEIR_PLUGIN_COMPILER(weir::cuda::compile_image)
