// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/model/step.hpp"
#include "tools/validate/written.hpp"
#include "weir/access.hpp"
#include "weir/fwd.hpp"
#include "weir/stream_memory.hpp"

namespace weir::validate {

using model::StepPtr;

/// Memory known to Weir: an allocation, registered memory or a variable of a module.
struct Block {
  std::uint64_t id = 0;  ///< never used again
  std::uintptr_t begin = 0, end = 0;
  const Device* device = nullptr;
  bool is_of_device = false;   ///< only that device and its peers can address it
  bool is_allocated = false;   ///< by Weir, so the bytes around it do not belong to it
  bool is_of_graph = false;    ///< allocated in a capture: it exists at each launch
  bool is_registered = false;  ///< the program's own memory: only the registration ends
  bool is_variable = false;    ///< of a module, and freed with it
  bool is_blank = false;       ///< only operations that Weir sees can have written to it
  StepPtr made, freed = {};
  std::string name = {};  ///< given by the program
  Written written = {};  ///< for blank memory, with the option `unwritten`
};

inline std::size_t extent_of(const MemoryAccess& access) noexcept {
  return access.rows == 0 ? 0 : (access.rows - 1) * access.pitch + access.bytes;
}
inline MemoryAccess access_of(const MemoryOperation& operation) noexcept {
  return {operation.address, operation.is_64() ? sizeof(std::uint64_t) : sizeof(std::uint32_t),
          operation.is_write() ? AccessKind::write : AccessKind::read};
}

}  // namespace weir::validate
