// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "weir/plugin/flight_recorder.hpp"

/// The record of a communicator's last operations, as text and as a file.
namespace weir::collectives {

/// What a record says about its communicator.
struct FlightHeader {
  std::string communicator;  ///< the same on all ranks
  int rank = 0, ranks = 1;
  std::string library, device, failure;  ///< failure: empty if it has not failed
};

/// Returns the folder in WEIR_FLIGHT_RECORD. Throws `invalid_environment` if it is not an absolute path.
const std::optional<std::string>& flight_folder();
/// Returns the record as JSON, which `weir flight` reads.
std::string flight_text(const FlightHeader& header, const FlightRecorder& recorder);
/// Writes a file with the record to the folder, if there is one. If that fails, logs a warning and leaves no file.
void write_flight_record(const FlightHeader& header, const FlightRecorder& recorder) noexcept;

}  // namespace weir::collectives
