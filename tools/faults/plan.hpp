// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/error.hpp"
#include "weir/plugin/tool.hpp"

/// The plan of failures in WEIR_FAULTS. docs/tools.md describes the language.
namespace weir::faults {

/// The operations or driver calls that a rule applies to.
enum class Subject {
  operation,  ///< operations of one kind
  any_operation,
  function,  ///< one function of a driver
  any_function,
};

/// One part of WEIR_FAULTS, such as "cuMemAlloc:2=CUDA_ERROR_OUT_OF_MEMORY sticky".
struct Rule {
  std::string text;
  Subject subject{};
  OperationKind kind{};
  std::string function;
  // When the rule applies: from the first to the last time, or by chance (below).
  std::uint64_t first = 1, last = UINT64_MAX;
  std::optional<double> chance;  ///< the probability: 0.1 for 10%
  // What the rule does: a delay or a failure.
  std::optional<std::chrono::nanoseconds> delay;
  Errc errc{};         ///< the failure of an operation
  std::string native;  ///< the failure of a driver function: "CUDA_ERROR_OUT_OF_MEMORY" or "2"
  bool sticky = false;

  bool is_of_driver() const noexcept { return subject == Subject::function || subject == Subject::any_function; }
  /// Whether the rule applies to the `time`-th operation or call, counted from 1. Equal arguments have equal results.
  /// `seed`: a number for this rule, made from the plan's seed.
  bool means(std::uint64_t time, std::uint64_t seed) const noexcept;
};

struct Plan {
  std::vector<Rule> rules;
  std::uint64_t seed = 0;
  bool counts = false;  ///< print how often each function and operation was called
};

/// Reads a plan. Throws `invalid_environment` with the wrong part and a suggestion.
Plan parse(std::string_view text);

/// Returns the driver's error number for the rule's failure. Throws like `parse` if the driver has no such error, or if the
/// backend never calls the function.
int native_code(const Rule& rule, const Driver& driver);

/// Whether the driver of that backend has functions with this prefix: cu… for "cuda", hip… for "hip".
bool is_function_of(std::string_view function, std::string_view backend) noexcept;

/// Whether the driver function still works after a device is lost, because it does not need the device's context.
bool outlives_the_device(std::string_view function) noexcept;

}  // namespace weir::faults
