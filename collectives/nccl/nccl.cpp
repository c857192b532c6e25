// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "collectives/nccl/library.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/stream.hpp"

/// The parts of the plugin that are specific to NCCL.
namespace weir::nccl {
namespace {

// Makes the device's primary context current, with the driver that Weir has opened. NCCL contains CUDA's runtime, which
// finds the device through the context.
std::shared_ptr<void> make_current(Device& device) {
  void* const driver = ::dlopen(device.backend().versions().library_path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto push = reinterpret_cast<int (*)(void*)>(driver != nullptr ? ::dlsym(driver, "cuCtxPushCurrent_v2") : nullptr);
  const auto pop = reinterpret_cast<int (*)(void**)>(driver != nullptr ? ::dlsym(driver, "cuCtxPopCurrent_v2") : nullptr);
  const int result = push != nullptr && pop != nullptr ? push(device.default_stream()->native_context()) : -1;
  if (result == 0) return {driver, [pop](void* context) { pop(&context); }};
  throw Error(Errc::backend_failure, "Communicator::from_id", device.describe(),
              "the device's context cannot be made current", {.code = result, .name = "cuCtxPushCurrent", .message = {}});
}

constexpr std::string_view names[] = {"libnccl.so.2", "libnccl.so"};
constexpr Vendor vendor = {.name = "nccl",
                           .variable = "WEIR_NCCL",
                           .names = names,
                           .remedy = "install NCCL (NVIDIA's package libnccl2, or nvidia-nccl-cu13 from PyPI)",
                           .make_current = make_current};

}  // namespace
}  // namespace weir::nccl

WEIR_PLUGIN_NOTE("comm_nccl", WEIR_VERSION_STRING)
weir::CommunicatorLibrary* weir_open_communicator_library() { return new weir::nccl::Library(weir::nccl::vendor); }
