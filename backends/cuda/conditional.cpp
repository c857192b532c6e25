// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/api.hpp"
#include "backends/cuda/numbers.hpp"

/// Conditional nodes. The driver lets only device code set a condition, so a kernel of one thread reads the value from
/// memory and sets the condition.
namespace weir::cuda {
namespace {

// `cudaGraphSetConditional` is a function of the device runtime. It needs no library, because the driver resolves it when it
// loads the module.
constexpr const char* kernel_ptx = R"(
.version 6.0
.target sm_50
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry weir_set_condition(.param .u64 handle, .param .u64 address)
{
  .reg .b32 %value;
  .reg .b64 %handle, %address, %global;
  ld.param.u64 %handle, [handle];
  ld.param.u64 %address, [address];
  cvta.to.global.u64 %global, %address;
  ld.volatile.global.u32 %value, [%global];
  {
    .param .b64 parameter0;
    .param .b32 parameter1;
    st.param.b64 [parameter0], %handle;
    st.param.b32 [parameter1], %value;
    call.uni cudaGraphSetConditional, (parameter0, parameter1);
  }
  ret;
}
)";

}  // namespace

Api::Result Api::load_conditional_kernel(ModuleHandle& module, FunctionHandle& function) const {
  std::string log;
  const CUresult result = load_module(module, kernel_ptx, log);
  if (result != CUDA_SUCCESS) {
    gpu::fail(*this, result, "Stream::capture_if", "cuda",
              "the driver cannot load the kernel that sets conditions" + (log.empty() ? "" : ": " + log));
  }
  return ModuleGetFunction(&function, module, "weir_set_condition");
}

Api::Result Api::create_condition(const DeviceContext& device, GraphHandle graph, ConditionalHandle& handle) const {
  return GraphConditionalHandleCreate(&handle, graph, device.context, 0, assign_default);
}

Api::Result Api::add_conditional_node(const DeviceContext& device, GraphHandle graph, const NodeHandle* dependencies,
                                      std::size_t count, ConditionalHandle handle, ConditionalKind kind, NodeHandle& node,
                                      std::span<GraphHandle> bodies) const {
  ConditionalNodeParams parameters{};
  parameters.type = type_conditional;
  parameters.handle = handle;
  parameters.condition_type = kind == ConditionalKind::if_nonzero      ? condition_if
                              : kind == ConditionalKind::while_nonzero ? condition_while
                                                                       : condition_switch;
  parameters.size = static_cast<unsigned>(bodies.size());
  parameters.context = device.context;
  const CUresult result = GraphAddNode(&node, graph, dependencies, nullptr, count, &parameters);
  if (result == CUDA_SUCCESS) std::copy_n(parameters.bodies, bodies.size(), bodies.begin());
  return result;
}

}  // namespace weir::cuda
