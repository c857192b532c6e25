// SPDX-License-Identifier: Apache-2.0
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string_view>

#include "injector.hpp"
#include "weir/plugin/tool.hpp"

// A tool that counts the calls of the driver, and answers one of them in its place.
namespace sweep {
namespace {

std::string_view without_prefix(std::string_view function) { return function.substr(function.starts_with("hip") ? 3 : 2); }

template <std::size_t N>
bool is_one_of(std::string_view function, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), without_prefix(function)) != std::end(names);
}

/// Calls that make something which another call must end.
bool makes(std::string_view function) {
  constexpr std::string_view names[] = {"StreamCreateWithPriority",
                                        "EventCreate",
                                        "EventCreateWithFlags",
                                        "StreamBeginCapture",
                                        "GraphCreate",
                                        "GraphClone",
                                        "GraphInstantiateWithFlags",
                                        "ModuleLoadDataEx",
                                        "ModuleLoadData",
                                        "MemPoolCreate",
                                        "MemAlloc",
                                        "MemHostAlloc",
                                        "MemAllocManaged",
                                        "Malloc",
                                        "HostMalloc",
                                        "MallocManaged",
                                        "MemHostRegister",
                                        "HostRegister",
                                        "MemAllocAsync",
                                        "MemAllocFromPoolAsync",
                                        "MallocAsync",
                                        "MallocFromPoolAsync"};
  return is_one_of(function, names);
}

bool ends(std::string_view function) {
  constexpr std::string_view names[] = {"StreamDestroy", "EventDestroy",   "GraphDestroy",   "GraphExecDestroy",
                                        "ModuleUnload",  "MemPoolDestroy", "MemFree",        "MemFreeHost",
                                        "Free",          "HostFree",       "HostUnregister", "MemHostUnregister",
                                        "MemFreeAsync",  "FreeAsync"};
  return is_one_of(function, names);
}

/// Where such a call fails, or the one that makes the device current for it, what should have ended is left.
bool ends_or_leads_to_an_end(std::string_view function) {
  return ends(function) || function.ends_with("EndCapture") || function.ends_with("CtxPushCurrent") ||
         function.ends_with("SetDevice") || function.ends_with("GetDevice") || function.ends_with("CtxGetCurrent");
}

constexpr int capture_invalidated = 901;  // of CUDA and of HIP

class DriverCalls final : public weir::Tool, public Injector {
 public:
  explicit DriverCalls(int code) : code_(code) {}

  bool watches_driver(const weir::Driver&) override { return true; }
  int before_driver_call(const weir::DriverCall& call) noexcept override {
    const std::uint64_t wanted = wanted_.load();
    if (++calls_ != wanted) return 0;
    function_ = call.function;
    frame_count_ = ::backtrace(frames_, std::size(frames_));
    has_failed_ = true;
    return code_;
  }
  void after_driver_call(const weir::DriverCall& call) noexcept override {
    // The driver destroys the graph of a capture that was invalidated.
    if (call.result == capture_invalidated && std::string_view(call.function).ends_with("EndCapture")) --objects_;
    if (call.result != 0) return;
    if (makes(call.function)) ++objects_;
    if (ends(call.function)) --objects_;
  }

  void arm(std::uint64_t n) noexcept override {
    wanted_ = 0;
    calls_ = 0;
    has_failed_ = false;
    wanted_ = n;
  }
  std::uint64_t calls() const noexcept override { return calls_; }
  bool has_failed() const noexcept override { return has_failed_; }
  const char* function() const noexcept override { return function_; }
  void print_stack() const noexcept override { ::backtrace_symbols_fd(frames_, frame_count_, STDOUT_FILENO); }
  bool fits(const weir::Error* error) const override {
    return error != nullptr && (error->native().code == code_ || error->errc() == weir::Errc::unsupported);
  }
  bool may_leave_something(const std::string& logged, bool thrown) const override {
    if (thrown && ends(function_)) return true;  // Stream::close throws it
    if (logged.find("a graph is leaked") != std::string::npos) return true;
    return !logged.empty() && ends_or_leads_to_an_end(function_);
  }
  std::int64_t objects() const noexcept override { return objects_; }

 private:
  const int code_;
  const char* function_ = "";
  void* frames_[48];
  int frame_count_ = 0;
  std::atomic<bool> has_failed_{false};
  std::atomic<std::uint64_t> wanted_{0}, calls_{0};
  std::atomic<std::int64_t> objects_{0};  // made and not yet ended
};

}  // namespace

Injector& driver_calls(int code) {
  auto made = std::make_unique<DriverCalls>(code);
  Injector& calls = *made;
  weir::Tools::add(std::move(made));
  return calls;
}

}  // namespace sweep
