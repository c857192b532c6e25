// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <string>

namespace weir {

/// The file's name with the process's number in place of each `%p`, for programs of several processes.
inline std::string with_process(std::string name) {
  const std::string number = std::to_string(::getpid());
  for (std::size_t at = 0; (at = name.find("%p", at)) != std::string::npos; at += number.size()) name.replace(at, 2, number);
  return name;
}

}  // namespace weir
