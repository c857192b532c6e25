// SPDX-License-Identifier: Apache-2.0
#include "weir/span.hpp"

#include <string>

#include "weir/error.hpp"

namespace weir {

void detail::throw_too_many_bytes(const char* operation, std::size_t count, std::size_t element_size) {
  throw Error(Errc::invalid_argument, operation, "",
              std::to_string(count) + " x " + std::to_string(element_size) +
                  " bytes are more than any memory has; a difference that became negative looks like this");
}

void detail::throw_length_mismatch(const char* operation, const std::string& object, std::size_t to, std::size_t from) {
  throw Error(Errc::length_mismatch, operation, object,
              "the destination has " + std::to_string(to) + " elements and the source " + std::to_string(from) +
                  "; copy a subspan of the longer one");
}

}  // namespace weir
