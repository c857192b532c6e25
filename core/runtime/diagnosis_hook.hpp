// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weir/health.hpp"
#include "weir/plugin/tool.hpp"

/// The functions of core/diagnosis that the runtime calls.
namespace weir::detail {

/// Creates the library's own tools that variables enable: WEIR_JOURNAL, WEIR_STUCK. Throws `invalid_environment`. Called
/// once.
std::vector<std::unique_ptr<Tool>> make_diagnosis_tools();
/// With WEIR_JOURNAL: operations of the device's streams that were not known to be complete. Does not call the driver.
std::vector<Suspect> operations_not_known_done(const Device& device);

}  // namespace weir::detail
