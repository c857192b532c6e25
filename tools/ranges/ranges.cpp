// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <string>
#include <vector>

#ifdef WEIR_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#if __has_include(<cuda.h>)
#include <nvtx3/nvToolsExtCuda.h>
#endif
#endif

#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/plugin/support.hpp"
#include "weir/module.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/version.hpp"

/// Shows each operation and each `weir::ScopedRange` as a range of the calling thread in the vendors' profilers (NVTX,
/// roctx).
namespace weir::ranges {
namespace {

/// A profiler that receives ranges. Both vendors' functions have the same signatures.
struct Profiler {
  int (*push)(const char* name);
  int (*pop)();
  std::string_view backend = {};  ///< the backend whose streams and events the profiler can name
  // Null if the profiler cannot name streams and events.
  int (*name_stream)(const char* name, const void* stream) = nullptr;
  int (*name_event)(const char* name, const void* event) = nullptr;
};

std::vector<Profiler> find_profilers() {
  std::vector<Profiler> profilers;
#ifdef WEIR_HAS_NVTX
  // The header finds the profiler through NVTX_INJECTION64_PATH. Without a profiler, a call does nothing.
  profilers.push_back({[](const char* name) { return nvtxRangePushA(name); }, [] { return nvtxRangePop(); }});
#if __has_include(<cuda.h>)
  profilers.back().backend = "cuda";
  profilers.back().name_stream = [](const char* name, const void* stream) {
    nvtxNameCuStreamA(static_cast<CUstream>(const_cast<void*>(stream)), name);
    return 0;
  };
  profilers.back().name_event = [](const char* name, const void* event) {
    nvtxNameCuEventA(static_cast<CUevent>(const_cast<void*>(event)), name);
    return 0;
  };
#endif
#endif
  for (const char* const name : {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4"}) {
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) continue;
    using Name = int (*)(const char*, const void*);
    const Profiler found{reinterpret_cast<int (*)(const char*)>(::dlsym(library, "roctxRangePushA")),
                         reinterpret_cast<int (*)()>(::dlsym(library, "roctxRangePop")), "hip",
                         reinterpret_cast<Name>(::dlsym(library, "roctxNameHipStream")),
                         reinterpret_cast<Name>(::dlsym(library, "roctxNameHipEvent"))};
    if (found.push == nullptr || found.pop == nullptr) continue;
    profilers.push_back(found);
    support::log(support::LogLevel::info, "ranges: shown in ", name);
    break;
  }
  return profilers;
}

class Ranges final : public Tool {
 public:
  void before(const Operation& operation) override {
    if (operation.kernel != nullptr) return push(operation.kernel->name().c_str());
    if (operation.kind == OperationKind::host_function && !operation.label.empty())
      return push(std::string(operation.label).c_str());
    push(operation.name);
  }
  void after(const Operation& operation) noexcept override {
    pop();
    if (operation.kind == OperationKind::set_name) name(operation);
  }
  void begin_range(std::string_view name) noexcept override {
    try {
      push(std::string(name).c_str());
    } catch (const std::exception&) {
      push("");  // out of memory; push anyway, because `end_range` follows
    }
  }
  void end_range() noexcept override { pop(); }

 private:
  void name(const Operation& operation) const noexcept try {
    const std::string label(operation.label);
    for (const Profiler& profiler : profilers_) {
      if (profiler.backend != operation.device->backend().name()) continue;
      if (operation.stream != nullptr && profiler.name_stream != nullptr)
        profiler.name_stream(label.c_str(), operation.stream_key.handle);
      if (operation.event != nullptr && profiler.name_event != nullptr)
        profiler.name_event(label.c_str(), operation.event->native_handle());
    }
  } catch (const std::exception&) {
    // Out of memory: the profiler shows the number instead of the name.
  }
  void push(const char* name) const noexcept {
    for (const Profiler& profiler : profilers_) profiler.push(name);
  }
  void pop() const noexcept {
    for (auto profiler = profilers_.rbegin(); profiler != profilers_.rend(); ++profiler) profiler->pop();
  }

  const std::vector<Profiler> profilers_ = find_profilers();
};

Tool* create() { return new Ranges; }

}  // namespace
}  // namespace weir::ranges

WEIR_TOOL("ranges", WEIR_VERSION_STRING, weir::ranges::create)
