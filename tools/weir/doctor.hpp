// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "machine.hpp"
#include "report.hpp"

/// Why a backend is not usable on this machine, and what to do about it.
namespace weir::tool {

struct Diagnosis {
  std::string backend;
  std::string state;  ///< as in the report
  bool usable = false;
  bool expected = false;              ///< usable, or the machine or the environment seems meant to have it
  std::vector<std::string> searched;  ///< files, and what came of each
  std::vector<std::string> found;     ///< what bears on it: devices, drivers, files, variables
  std::string cause;                  ///< what is at fault; empty where usable
  std::vector<std::string> commands;  ///< to try, in this order
};

/// What there is to say about one backend of a report of `make_report`.
Diagnosis diagnose(const Json& report, const Json& backend, const Machine& machine);

/// The backend that this machine should use: in the order of WEIR_BACKEND the first that is expected; null if none is.
const Diagnosis* best(const std::vector<Diagnosis>& all, const Json& report);

/// Whether programs get the best backend: it is usable, there is a default device, and no variable of Weir's is wrong.
bool is_healthy(const std::vector<Diagnosis>& all, const Json& report);

/// Diagnoses, for people, in lines of at most `width` columns.
std::string format_diagnoses(const std::vector<Diagnosis>& all, const Json& report, const Machine& machine, int width,
                             bool colour);

}  // namespace weir::tool
