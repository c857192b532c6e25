// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report.hpp"

/// Formats the report of `weir info` as text.
namespace weir::tool {

/// Formats the report as text, in lines of at most `width` columns. The short form fits one screen: each backend's state and
/// reason, its devices, and the features that they lack. `verbose`: the whole report.
std::string format_report(const Json& report, int width, bool verbose, bool colour);

}  // namespace weir::tool
