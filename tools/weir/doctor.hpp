// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "machine.hpp"
#include "report.hpp"

/// Explains why a backend is not usable on this machine, and which commands can help.
namespace weir::tool {

struct Diagnosis {
  std::string backend;
  std::string state;  ///< the state in the report
  bool usable = false;
  bool expected = false;              ///< it is usable, or the machine or the environment suggests that it should be
  std::vector<std::string> searched;  ///< files, and the outcome for each
  std::vector<std::string> found;     ///< related devices, drivers, files and variables
  std::string cause;                  ///< the cause of the failure; empty if usable
  std::vector<std::string> commands;  ///< commands to try, in this order
};

/// Diagnoses one backend in a report of `make_report`.
Diagnosis diagnose(const Json& report, const Json& backend, const Machine& machine);

/// Returns the backend that this machine should use: the first one in the order of WEIR_BACKEND that is `expected`, or null.
const Diagnosis* best(const std::vector<Diagnosis>& all, const Json& report);

/// Whether programs get the best backend: it is usable, there is a default device, and all of Weir's variables are valid.
bool is_healthy(const std::vector<Diagnosis>& all, const Json& report);

/// Formats diagnoses as text, in lines of at most `width` columns.
std::string format_diagnoses(const std::vector<Diagnosis>& all, const Json& report, const Machine& machine, int width,
                             bool colour);

}  // namespace weir::tool
