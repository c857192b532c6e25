// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver.hpp"
#include "tests/bridge/driver.hpp"

/// Declares the functions that the bridge looks up, from the bridge's list. Each one has the type that the bridge expects.
namespace cpu_cuda {

inline constexpr std::size_t total_memory = std::size_t{16} << 30;

#define CPU_CUDA_DECLARE(name, version) std::remove_pointer_t<PFN_cu##name##_v##version> name;
BRIDGE_CUDA_SYMBOLS(CPU_CUDA_DECLARE)
#undef CPU_CUDA_DECLARE

/// Tells what was asked for.
template <class T>
CUresult give(T* to, std::type_identity_t<T> value) {
  *to = value;
  return CUDA_SUCCESS;
}

/// Nodes of work that graphs hold, and streams carry out.
std::unique_ptr<Node> kernel_node(const CUDA_KERNEL_NODE_PARAMS& parameters);
std::unique_ptr<Node> fill_node(const CUDA_MEMSET_NODE_PARAMS& parameters);
std::unique_ptr<Node> copy_node(const CUDA_MEMCPY3D& copy);

/// Calls a program's function as the driver does.
void call_host_function(CUhostFn function, void* data);

}  // namespace cpu_cuda
