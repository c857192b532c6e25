// SPDX-License-Identifier: Apache-2.0

// A plugin's note without the factory.
#include "weir/plugin/plugin.hpp"

__attribute__((used, section(".note.weir"), aligned(4))) static constexpr auto note =
    weir::detail::make_plugin_note("note_only", "1");
