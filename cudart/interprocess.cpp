// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "cudart/state.hpp"

namespace weir::cudart::calls {

void cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  const auto found = memory().find(pointer);
  check(found && found->block.kind == BlockKind::device);
  const Block& block = found->block;
  give(handle, std::bit_cast<cudaIpcMemHandle_t>(block.device->interprocess_handle(*block.allocation)));
}

void cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  check(pointer != nullptr && (flags & ~unsigned{cudaIpcMemLazyEnablePeerAccess}) == 0);
  Device& device = *current().device;
  // CUDA's handle does not tell the size, and drivers do not need it.
  AllocationPtr opened = device.open_allocation(std::bit_cast<InterprocessHandle>(handle), 1);
  *pointer = opened->data();
  memory().add(*pointer, {1, BlockKind::opened, &device, 0, std::move(opened), {}});
}

void cudaIpcCloseMemHandle(void* pointer) {
  check(memory().take(pointer, [](const Block& block) { return block.kind == BlockKind::opened; }).has_value());
}

void cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  give(handle, std::bit_cast<cudaIpcEventHandle_t>(runtime().events.get(event)->interprocess_handle()));
}

void cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  check(event != nullptr);
  *event = static_cast<cudaEvent_t>(
      runtime().events.add(current().device->open_event(std::bit_cast<InterprocessHandle>(handle))));
}

}  // namespace weir::cudart::calls
