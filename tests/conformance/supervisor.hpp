// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "report.hpp"

/// Runs the cases in a separate process. If a case hangs or crashes, it is one failure, and the other cases still run.
namespace conformance {

/// The file descriptor on which the process that runs the cases reports their results.
inline constexpr int record_descriptor = 3;

/// Starts this program again with `arguments` and adds its reports to `report`. A case that takes longer than `limit`, or
/// that ends the process, has failed, and the cases after it run in another process. `first` and `last`: the range of cases
/// to run, from 1, among those that pass the filters. `count`: the number of cases that pass the filters, for the progress
/// on a terminal. Returns an exit status if the process could not begin because of a wrong variable or option, which it has
/// printed.
std::optional<int> run_supervised(const std::vector<std::string>& arguments, int first, int last, int count,
                                  std::chrono::seconds limit, Report& report);

}  // namespace conformance
