// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report.hpp"

namespace weir::tool {

/// The report for people, in lines of at most `width` columns. `verbose`: all that was tried also for what is usable, and
/// every property.
std::string format_report(const Json& report, int width, bool verbose);

}  // namespace weir::tool
