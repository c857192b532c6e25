// SPDX-License-Identifier: Apache-2.0
#include "weir/version.hpp"

namespace weir {

const char* version() noexcept { return WEIR_VERSION_STRING; }

}  // namespace weir
