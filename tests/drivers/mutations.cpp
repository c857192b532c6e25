// SPDX-License-Identifier: Apache-2.0

// Prints what ci/mutations.sh can have the HIP backend do wrong, one name a line: the rows of the quirk table, and, without
// the argument --table, the named places in the code.

#include <cstdio>
#include <set>
#include <string>

#include "backends/hip/mutation.hpp"
#include "backends/hip/quirks.hpp"

int main(int argc, char** argv) {
  const bool table_alone = argc > 1 && std::string(argv[1]) == "--table";
  std::set<std::string> names;
  for (const auto& quirk : weir::hip::feature_quirks()) names.insert(row_name(quirk));
  for (const auto& quirk : weir::hip::function_quirks()) names.emplace(to_string(quirk.workaround));
#define WEIR_HIP_MUTATION(name) \
  if (!table_alone) names.emplace(#name);
  WEIR_HIP_MUTATIONS(WEIR_HIP_MUTATION)
#undef WEIR_HIP_MUTATION
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  return 0;
}
