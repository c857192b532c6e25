// SPDX-License-Identifier: Apache-2.0

// Prints the rows of the HIP backend's table of quirks that ci/mutations.sh takes out, one name a line: "graph_upload@502"
// for a feature and the release that the row begins with, with the GPUs that it is about, and the names of workarounds.

#include <cstdio>
#include <set>
#include <string>

#include "backends/hip/quirks.hpp"

int main() {
  std::set<std::string> names;
  for (const auto& quirk : weir::hip::feature_quirks())
    names.insert(std::string(to_string(quirk.feature)) + "@" + std::to_string(quirk.releases.since) +
                 std::string(quirk.gpus));
  for (const auto& quirk : weir::hip::function_quirks()) names.emplace(to_string(quirk.workaround));
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  return 0;
}
