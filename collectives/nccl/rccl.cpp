// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include "collectives/nccl/library.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/plugin/plugin.hpp"

/// The parts of the plugin that are specific to RCCL.
namespace weir::nccl {
namespace {

// Sets the calling thread's device, with the runtime that Weir has opened, until the former one is restored.
std::shared_ptr<void> make_current(Device& device) {
  void* const runtime = ::dlopen(device.backend().versions().library_path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto get = reinterpret_cast<int (*)(int*)>(runtime != nullptr ? ::dlsym(runtime, "hipGetDevice") : nullptr);
  const auto set = reinterpret_cast<int (*)(int)>(runtime != nullptr ? ::dlsym(runtime, "hipSetDevice") : nullptr);
  int before = 0;
  int result = get != nullptr && set != nullptr ? get(&before) : -1;
  if (result == 0) result = set(static_cast<int>(device.native_handle()));
  if (result == 0) return {runtime, [set, before](void*) { set(before); }};
  throw Error(Errc::backend_failure, "Communicator::from_id", device.describe(), "the device cannot be made current",
              {.code = result, .name = "hipSetDevice", .message = {}});
}

constexpr std::string_view names[] = {"librccl.so.1", "librccl.so"};
constexpr Vendor vendor = {
    .name = "rccl",
    .variable = "WEIR_RCCL",
    .names = names,
    .remedy = "install RCCL (AMD's package rccl, Debian's librccl1)",
    .make_current = make_current};

}  // namespace
}  // namespace weir::nccl

WEIR_PLUGIN_NOTE("comm_rccl", WEIR_VERSION_STRING)
weir::CommunicatorLibrary* weir_open_communicator_library() { return new weir::nccl::Library(weir::nccl::vendor); }
