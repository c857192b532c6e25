// SPDX-License-Identifier: Apache-2.0
#include "nvrtc.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <type_traits>

// Opens NVRTC for the bridge.

namespace bridge {

const Nvrtc* nvrtc() noexcept {
  static const Nvrtc* const library = []() -> const Nvrtc* {
    void* opened = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if ((opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    }
    if (opened == nullptr) return nullptr;
    auto* const made = new Nvrtc;
    bool complete = true;
    const auto resolve = [&](const char* name, auto& pointer) {
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(::dlsym(opened, name));
      complete = complete && pointer != nullptr;
    };
#define BRIDGE_NVRTC_RESOLVE(name) resolve("nvrtc" #name, made->name);
    BRIDGE_NVRTC_SYMBOLS(BRIDGE_NVRTC_RESOLVE)
#undef BRIDGE_NVRTC_RESOLVE
    Dl_info file{};
    std::error_code error;
    if (complete && ::dladdr(reinterpret_cast<void*>(made->CreateProgram), &file) != 0) {
      const auto folder = std::filesystem::canonical(file.dli_fname, error).parent_path();
      for (const char* include : {"../include", "../../include", "../include/cccl", "../../include/cccl"}) {
        if (std::filesystem::is_directory(folder / include, error)) made->header_folders.push_back(folder / include);
      }
    }
    return complete ? made : nullptr;
  }();
  return library;
}

}  // namespace bridge
