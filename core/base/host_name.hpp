// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <climits>
#include <string>

/// `host_name`: the name of this machine.
namespace weir::detail {

/// Returns the machine's name, for messages; "unknown" if it has none.
inline std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "unknown";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace weir::detail
