// SPDX-License-Identifier: Apache-2.0

// The backend `immediate` with a fault: when its memory is queried, it hangs, crashes or ends the process, as
// WEIR_TEST_FAULT selects.

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "weir/plugin/plugin.hpp"

#pragma push_macro("WEIR_PLUGIN")
#undef WEIR_PLUGIN
#define WEIR_PLUGIN(name, version, create) [[maybe_unused]] const auto other_create = &create;
#include "immediate.cpp"
#pragma pop_macro("WEIR_PLUGIN")

namespace {

class FaultyDevice final : public ImmediateDevice {
 public:
  using ImmediateDevice::ImmediateDevice;

 protected:
  weir::MemoryInfo do_memory_info() const override {
    const char* const fault = std::getenv("WEIR_TEST_FAULT");
    const std::string_view text = fault != nullptr ? fault : "";
    if (text == "hang") ::pause();
    if (text == "crash") std::abort();
    if (text == "exit") ::_exit(7);
    return {};
  }
};

class FaultyBackend final : public weir::BackendImpl {
 public:
  FaultyBackend() : BackendImpl("faulty") { add_device(*new FaultyDevice(*this, 0)); }
};

weir::Backend* create_faulty(weir::PluginContext&) { return new FaultyBackend; }

}  // namespace

WEIR_PLUGIN("faulty", "1.0", create_faulty)
