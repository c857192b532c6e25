// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <string>
#include <vector>

#ifdef WEIR_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include "weir/plugin/support.hpp"
#include "weir/module.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/version.hpp"

/// Tells the vendors' profilers of each operation and each `weir::ScopedRange`, as ranges of the thread: NVTX, roctx.
namespace weir::ranges {
namespace {

/// Where ranges go. The two vendors' functions have the same form.
struct Profiler {
  int (*push)(const char* name);
  int (*pop)();
};

// The first of the libraries that has both functions, if there is one. It is never closed.
void add_library(std::vector<Profiler>& profilers, std::initializer_list<const char*> libraries, const char* push,
                 const char* pop) {
  for (const char* const name : libraries) {
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) continue;
    const Profiler found{reinterpret_cast<int (*)(const char*)>(::dlsym(library, push)),
                         reinterpret_cast<int (*)()>(::dlsym(library, pop))};
    if (found.push == nullptr || found.pop == nullptr) continue;
    profilers.push_back(found);
    support::log(support::LogLevel::info, "ranges: told to ", name);
    return;
  }
}

std::vector<Profiler> find_profilers() {
  std::vector<Profiler> profilers;
#ifdef WEIR_HAS_NVTX
  // The header finds the profiler by NVTX_INJECTION64_PATH; without one a call does nothing.
  profilers.push_back({[](const char* name) { return nvtxRangePushA(name); }, [] { return nvtxRangePop(); }});
#else
  add_library(profilers, {"libnvToolsExt.so.1"}, "nvtxRangePushA", "nvtxRangePop");
#endif
  add_library(profilers, {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4"}, "roctxRangePushA", "roctxRangePop");
  return profilers;
}

class Ranges final : public Tool {
 public:
  void before(const Operation& operation) override {
    push(operation.kernel != nullptr ? operation.kernel->name().c_str() : operation.name);
  }
  void after(const Operation&) noexcept override { pop(); }
  void begin_range(std::string_view name) noexcept override {
    try {
      push(std::string(name).c_str());
    } catch (const std::exception&) {
      push("");  // no memory; `end_range` follows in any case
    }
  }
  void end_range() noexcept override { pop(); }

 private:
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
