// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/mutation.hpp"

#include <cstdlib>

#ifdef WEIR_HIP_MUTATE
namespace weir::hip {

bool mutated(std::string_view name) noexcept {
  static const char* const chosen = std::getenv("WEIR_TEST_MUTATION");
  return chosen != nullptr && name == chosen;
}

bool mutated(Mutation mutation) noexcept {
  static constexpr std::string_view names[] = {
#define WEIR_HIP_MUTATION(name) #name,
      WEIR_HIP_MUTATIONS(WEIR_HIP_MUTATION)
#undef WEIR_HIP_MUTATION
  };
  return mutated(names[static_cast<std::size_t>(mutation)]);
}

}  // namespace weir::hip
#endif
