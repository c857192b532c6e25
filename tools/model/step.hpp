// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tools/model/stack.hpp"
#include "weir/plugin/operation.hpp"

/// Describes operations for the reports of tools.
namespace weir::model {

/// "kernel 'scale'", "host function 'reduce'", "Stream::copy", "the free"
std::string what_of(const Operation& operation);
/// "host:0 stream 0x55…", "host:0 default stream"; "the host" for an operation without a stream
std::string place_of(const Operation& operation);
/// " 'weights'", to append to the kind of the object; "" for an empty name. Escapes control characters.
std::string quoted(std::string_view name);

/// One operation of the program, for reports.
struct Step {
  std::uint64_t operation = 0;
  std::string what;    ///< `what_of`
  std::string where;   ///< `place_of`
  std::string device;  ///< "host:0"
  std::string tag;     ///< the name of the enclosing `Range`
  std::uint64_t thread = 0;
  Stack stack;
  std::uint32_t place = 0;  ///< a number for the stack; steps with equal stacks have the same number
};
using StepPtr = std::shared_ptr<const Step>;

/// Makes steps. Each one contains the call stack of the calling thread.
class StepMaker {
 public:
  StepPtr make(const Operation& operation) { return make(operation, what_of(operation), place_of(operation)); }
  StepPtr make(const Operation& operation, std::string what, std::string where);

 private:
  std::map<Stack, std::uint32_t> places_;
};

}  // namespace weir::model
