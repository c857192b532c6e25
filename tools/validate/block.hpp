// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tools/model/step.hpp"
#include "tools/validate/written.hpp"
#include "weir/fwd.hpp"

/// The memory that the tool `validate` tracks.
namespace weir::validate {

using model::StepPtr;

/// Memory known to Weir: an allocation, registered memory or a variable of a module.
struct Block {
  std::uint64_t id = 0;  ///< unique in the process
  std::uintptr_t begin = 0, end = 0;
  const Device* device = nullptr;
  bool is_of_device = false;   ///< only the device and its peers can address it
  bool is_allocated = false;   ///< Weir allocated it, so the bytes around it belong to other memory
  bool is_of_graph = false;    ///< allocated in a capture, so it exists during each launch
  bool is_registered = false;  ///< memory that the program registered; the end of the registration does not free it
  bool is_variable = false;    ///< a module's variable, freed with the module
  bool is_blank = false;       ///< only operations that tools see can have written to it
  StepPtr made, freed = {};
  std::string name = {};  ///< the name that the program gave it
  Written written = {};   ///< the written bytes, if it is blank and the option `unwritten` is set
};

}  // namespace weir::validate
