// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "report.hpp"

/// Running the cases in a process of their own, so that one that hangs or crashes is one failure and the rest runs on.
namespace conformance {

/// The descriptor on which the process of the cases tells what becomes of them.
inline constexpr int record_descriptor = 3;

/// Starts this program anew with `arguments` and takes what it tells into `report`. A case that takes longer than `limit`,
/// or ends the process, has failed, and those behind it run in another process. `first`, from 1, and `last`: which of the
/// cases that pass the filters are to run. Returns an exit status if the process could not begin because of a variable or an
/// option that is wrong, which it has told. `count`: of all cases that pass the filters, for the progress on a terminal.
std::optional<int> run_supervised(const std::vector<std::string>& arguments, int first, int last, int count,
                                  std::chrono::seconds limit, Report& report);

}  // namespace conformance
