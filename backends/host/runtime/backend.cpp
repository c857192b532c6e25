// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/backend.hpp"

#include <tbb/version.h>

#include "backends/cache/seal.hpp"
#include "backends/host/compile/compile.hpp"
#include "backends/host/compile/compiler.hpp"
#include "backends/host/compile/elf_image.hpp"
#include "backends/host/run/kernel.hpp"
#include "backends/host/runtime/device.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/support.hpp"
#include "weir/version.hpp"

namespace weir::host {
namespace {

class HostBackend final : public BackendImpl {
 public:
  HostBackend() : BackendImpl("host") {
    const long devices = support::environment_number("WEIR_HOST_DEVICES", 1, 1, 64);
    (void)handles_signals();  // called only because it throws if WEIR_HOST_SIGNALS is invalid
    bool has_compiler = false;
    const std::string compiler = describe_compiler(has_compiler);
    mutable_versions().runtime = std::string("oneTBB ") + TBB_runtime_version() + ", " +
                                 std::to_string(Scheduler::instance().threads()) + " threads";
    mutable_versions().compiler = compiler;
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
      add_device(*new HostDevice(*this, ordinal, has_compiler, compiler));
    }
  }
};

Backend* create(PluginContext&) { return new HostBackend; }

void compile_sealed_image(ImageCompilation& request) {
  compile_image(request);
  cache::seal(request.image);
}

}  // namespace
}  // namespace weir::host

WEIR_PLUGIN("host", WEIR_VERSION_STRING, weir::host::create)
WEIR_PLUGIN_COMPILER(weir::host::compile_sealed_image)
