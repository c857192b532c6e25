// SPDX-License-Identifier: Apache-2.0

// Prints the names of the rows in the HIP backend's table of quirks, one per line, for ci/mutations.sh, which removes each
// row. For a feature, the name is "graph_upload@502" with the release that the row begins with, and the GPUs that it applies
// to. For a workaround, it is the workaround's name.

#include <cstdio>
#include <set>
#include <string>

#include "backends/hip/quirks.hpp"

int main() {
  std::set<std::string> names;
  for (const auto& quirk : weir::hip::feature_quirks())
    names.insert(std::string(to_string(quirk.feature)) + "@" + std::to_string(quirk.releases.since) +
                 std::string(quirk.gpus));
  for (std::size_t i = 0; i < weir::hip::workaround_count; ++i)
    names.emplace(to_string(static_cast<weir::hip::Workaround>(i)));
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  return 0;
}
