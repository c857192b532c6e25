// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "cudart/state.hpp"

namespace weir::cudart {

namespace {

template <class Handle>
InterprocessHandle to_weir(const Handle& handle) {
  InterprocessHandle copy;
  static_assert(sizeof handle == sizeof copy.bytes);
  std::memcpy(copy.bytes.data(), &handle, sizeof handle);
  return copy;
}

}  // namespace

namespace calls {

void cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  check(handle != nullptr);
  const auto found = memory().find(pointer);
  check(found && found->second.kind == BlockKind::device);
  const InterprocessHandle made = found->second.device->interprocess_handle(*found->second.allocation);
  std::memcpy(handle, made.bytes.data(), sizeof *handle);
}

void cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  check(pointer != nullptr && (flags & ~unsigned{cudaIpcMemLazyEnablePeerAccess}) == 0);
  Device& device = *current().device;
  // CUDA's handle does not tell the size, and drivers do not need it.
  AllocationPtr opened = device.open_allocation(to_weir(handle), 1);
  *pointer = opened->data();
  memory().add(*pointer, {1, BlockKind::opened, &device, 0, std::move(opened), {}});
}

void cudaIpcCloseMemHandle(void* pointer) {
  check(memory().take(pointer, [](const Block& block) { return block.kind == BlockKind::opened; }).has_value());
}

void cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  check(handle != nullptr);
  const InterprocessHandle made = runtime().events.get(event)->interprocess_handle();
  std::memcpy(handle, made.bytes.data(), sizeof *handle);
}

void cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  check(event != nullptr);
  *event = static_cast<cudaEvent_t>(runtime().events.add(current().device->open_event(to_weir(handle))));
}

}  // namespace calls
}  // namespace weir::cudart
