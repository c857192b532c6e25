// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weir/health.hpp"
#include "weir/plugin/tool.hpp"

/// All that the runtime calls in core/diagnosis, which defines these functions.
namespace weir::detail {

/// The library's own tools that variables ask for: WEIR_JOURNAL, WEIR_STUCK. Throws `invalid_environment`. Called once.
std::vector<std::unique_ptr<Tool>> make_diagnosis_tools();
/// With WEIR_JOURNAL: the operations of the device's streams that were not known to be done. Makes no call of a driver's.
std::vector<Suspect> operations_not_known_done(const Device& device);

}  // namespace weir::detail
