// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weir/health.hpp"
#include "weir/plugin/tool.hpp"

/// Declares the functions of core/diagnosis that core/runtime calls, because core/runtime must not include core/diagnosis.
namespace weir::detail {

/// Creates the tools that WEIR_JOURNAL and WEIR_STUCK enable. Throws `invalid_environment`. Called once.
std::vector<std::unique_ptr<Tool>> make_diagnosis_tools();
/// The operations in the journal, on streams of `device`, that are not known to be complete. Empty without WEIR_JOURNAL.
/// Does not call the driver.
std::vector<Suspect> operations_not_known_done(const Device& device);

}  // namespace weir::detail
