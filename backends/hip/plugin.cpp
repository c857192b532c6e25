// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/backend.hpp"
#include "backends/hip/api.hpp"
#include "weir/plugin/plugin.hpp"

/// Registers the HIP backend as a plugin.
namespace {

weir::Backend* create(weir::PluginContext& context) {
  return new weir::gpu::GpuBackend<weir::hip::Api>(weir::hip::Api::load(context));
}

}  // namespace

WEIR_PLUGIN("hip", WEIR_VERSION_STRING, create)
WEIR_PLUGIN_COMPILER(weir::hip::compile_image)
