// SPDX-License-Identifier: Apache-2.0

// A plugin that needs a function which does not exist. It must fail when it is opened, not when it is called.
#include "weir/plugin/plugin.hpp"

extern "C" weir::Backend* weir_test_function_that_nothing_has();

namespace {
weir::Backend* create(weir::PluginContext&) { return weir_test_function_that_nothing_has(); }
}  // namespace

WEIR_PLUGIN("unresolved", "1.0", create)
