// SPDX-License-Identifier: Apache-2.0

// A stand-in for the vendors' profilers. It writes the ranges that it receives to standard error. Depending on how it is
// loaded, it is an injection library for NVTX 3 or roctx's library.
#include <cstdio>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int say(const char* profiler, const char* what, const char* name = "") {
  std::fprintf(stderr, "%s %s%s\n", profiler, what, name);
  return 0;
}

}  // namespace

EXPORT int roctxRangePushA(const char* name) { return say("roctx", "push ", name); }
EXPORT int roctxRangePop() { return say("roctx", "pop"); }
EXPORT int roctxNameHipStream(const char* name, const void*) { return say("roctx", "name ", name); }
EXPORT int roctxNameHipEvent(const char* name, const void*) { return say("roctx", "event ", name); }

#ifdef WEIR_HAS_NVTX
#include <nvtx3/nvToolsExt.h>

EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &size) == 0) return 0;
  const auto set = [&](NvtxCallbackIdCore id, auto* function) {
    *functions[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(
      NVTX_CBID_CORE_RangePushA, +[](const char* name) { return say("nvtx", "push ", name); });
  set(
      NVTX_CBID_CORE_RangePop, +[] { return say("nvtx", "pop"); });
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CUDA, &functions, &size) != 0) {
    *functions[NVTX_CBID_CUDA_NameCuStreamA] =
        reinterpret_cast<NvtxFunctionPointer>(+[](void*, const char* name) { say("nvtx", "name ", name); });
    *functions[NVTX_CBID_CUDA_NameCuEventA] =
        reinterpret_cast<NvtxFunctionPointer>(+[](void*, const char* name) { say("nvtx", "event ", name); });
  }
  return 1;
}
#endif
