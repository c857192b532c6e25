// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// `weir flight`: compares the records that the ranks of a communicator have left (WEIR_FLIGHT_RECORD).
namespace weir::tool {

struct FlightReport {
  std::string text;
  bool agrees = true;  ///< whether all ranks have left a record and have called the same operations
};

/// Reads the files, and compares the ranks of each communicator. Throws `std::runtime_error` for a file that is no record.
FlightReport compare_flights(const std::vector<std::string>& files);

}  // namespace weir::tool
