// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report.hpp"

namespace weir::tool {

/// The report for people, in lines of at most `width` columns: on one screen whether each backend is usable and why not, its
/// devices, and the features that they lack. `verbose`: all that the report has.
std::string format_report(const Json& report, int width, bool verbose, bool colour);

}  // namespace weir::tool
