// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/no_destructor.hpp"
#include "core/plugins/built_in.hpp"
#include "core/plugins/plugin_loader.hpp"
#include "core/runtime/captured_work.hpp"
#include "core/runtime/diagnosis_hook.hpp"
#include "core/runtime/stream_call.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/annotation.hpp"
#include "weir/error.hpp"
#include "weir/plugin/caller.hpp"
#include "weir/plugin/support.hpp"

// Tools: loads them, reports operations and annotations to them, and records portable captures.
namespace weir {

std::atomic<bool> detail::tools_watch{false};

namespace {

using detail::is_watched;

struct All {
  std::vector<std::unique_ptr<Tool>> list;  // does not change once `closed` is true
  bool closed = false;
  bool watches_nodes = false;  // whether a tool watches nodes
};

/// Never destroyed, because static objects may use Weir while the process exits.
All& all() noexcept {
  static detail::NoDestructor<All> tools;
  return *tools;
}

/// Data of the calling thread for tools.
struct Thread {
  bool in_tool = false;             // a tool is running: its calls of Weir are not reported
  bool has_touches = false;
  std::uint64_t host_function = 0;  // the id of the operation whose host function the thread is running, or 0
  std::uint64_t launch = 0;         // the id of the graph launch that the thread is performing, or 0
  std::vector<std::string> ranges;
  std::vector<MemoryAccess> touches;
  std::span<const SourceFrame> caller;
};

/// Never destroyed, because static and other thread-local objects may use Weir while the thread ends. When the thread ends,
/// only the memory of the vectors is freed.
Thread& this_thread() noexcept {
  thread_local detail::NoDestructor<Thread> thread;
  struct End {
    ~End() {
      (*thread).ranges = {};
      (*thread).touches = {};
    }
  };
  thread_local End end;
  (void)end;
  return *thread;
}

std::atomic<std::uint64_t> last_operation{0};

bool is_silent() noexcept { return this_thread().in_tool || detail::forked(); }

void finish_all() {
  // Not in a forked child: it has a copy of the tools' data, but the parent process reports it.
  if (detail::forked()) return;
  const support::UnshownCalls scope;
  int status = 0;
  for (const auto& tool : all().list) {
    if (const int wanted = tool->finish(); wanted != 0) status = wanted;
  }
  if (status == 0) return;
  std::fflush(nullptr);
  std::_Exit(status);
}

void add(std::unique_ptr<Tool> tool) {
  if (all().list.empty()) {
    std::atexit(finish_all);
    std::at_quick_exit(finish_all);
  }
  all().watches_nodes |= tool->watches_nodes();
  all().list.push_back(std::move(tool));
  detail::tools_watch.store(true, std::memory_order_relaxed);
}

}  // namespace

StreamKey detail::key_of(const Stream& stream) noexcept { return StreamCore::key(stream); }

CallerScope::CallerScope(std::span<const SourceFrame> frames) noexcept
    : outer_(std::exchange(this_thread().caller, frames)) {}
CallerScope::~CallerScope() { this_thread().caller = outer_; }

std::span<const SourceFrame> support::caller_frames() noexcept { return this_thread().caller; }

// --- The tools --------------------------------------------------------------------------------------------------------

void Tools::add(std::unique_ptr<Tool> tool) {
  if (all().closed) {
    throw Error(Errc::invalid_argument, "Tools::add", "",
                "Weir is already in use, so the tool would miss existing streams; add tools at the beginning of the "
                "program, before the first use of a device");
  }
  weir::add(std::move(tool));
}

bool Tools::any() noexcept { return is_watched(); }

void detail::open_tools() {
  all().closed = true;
  for (std::unique_ptr<Tool>& tool : make_diagnosis_tools()) weir::add(std::move(tool));
  const std::optional<std::string> tools = support::environment("WEIR_TOOLS"), faults = support::environment("WEIR_FAULTS");
  std::vector<std::string_view> names;
  if (tools) names = split_list("WEIR_TOOLS", *tools, ',', "list tools separated by single commas");
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name)
      throw_invalid_environment("WEIR_TOOLS", *tools, fmt::format("'{}' is listed twice; list each tool once", *name));
  }
  // WEIR_FAULTS alone loads the tool `faults`: otherwise no faults would be injected, and the user's test would pass without
  // testing anything.
  if (faults && std::find(names.begin(), names.end(), "faults") == names.end()) names.emplace_back("faults");
  if (!names.empty() && !can_load_plugins()) {
    throw_invalid_environment(tools ? "WEIR_TOOLS" : "WEIR_FAULTS", tools ? *tools : *faults,
                              "this Weir is a static library, which cannot load tools; add them with Tools::add");
  }
  constexpr std::pair<const char*, std::string_view> options[] = {{"WEIR_RACE", "race"},
                                                                  {"WEIR_VALIDATE", "validate"},
                                                                  {"WEIR_TIMELINE", "timeline"},
                                                                  {"WEIR_RECORD_FILE", "record"},
                                                                  {"WEIR_RECORD_LIMIT", "record"}};
  for (const auto& [variable, tool] : options) {
    if (support::environment(variable) && std::find(names.begin(), names.end(), tool) == names.end())
      support::log(support::LogLevel::warn,
                   fmt::format("{} is set but has no effect without WEIR_TOOLS={}", variable, tool));
  }
  const std::vector<std::string> folders = plugin_folders(support::environment("WEIR_PLUGIN_PATH"));
  for (const std::string_view name : names) weir::add(std::unique_ptr<Tool>(open_tool(name, folders)));
}

bool support::is_driver_watched(const Driver& driver) {
  bool watched = false;
  for (const auto& tool : all().list) watched = tool->watches_driver(driver) || watched;
  return watched;
}

int support::begin_driver_call(const DriverCall& call) noexcept {
  int result = 0;
  if (is_silent()) return result;
  for (const auto& tool : all().list) {
    if (const int answer = tool->before_driver_call(call); result == 0) result = answer;
  }
  return result;
}

std::uint64_t support::watched_launch() noexcept {
  return all().watches_nodes && !is_silent() ? this_thread().launch : 0;
}

void support::note_node(const NodeRun& run) noexcept {
  if (is_silent()) return;
  for (const auto& tool : all().list) {
    if (tool->watches_nodes()) tool->after_node(run);
  }
}

support::UnshownCalls::UnshownCalls() noexcept : outer_(std::exchange(this_thread().in_tool, true)) {}
support::UnshownCalls::~UnshownCalls() { this_thread().in_tool = outer_; }

void support::end_driver_call(const DriverCall& call) noexcept {
  if (is_silent()) return;
  for (auto tool = all().list.rbegin(); tool != all().list.rend(); ++tool) (*tool)->after_driver_call(call);
}

std::string_view to_string(OperationKind kind) noexcept {
  constexpr std::array<std::string_view, 39> names = {
      "kernel",       "copy",         "fill",          "host_function", "callback",       "memory_operations",
      "allocate",     "free",         "prefetch",      "external",      "record",         "wait_event",
      "wait_stream",  "synchronize",  "query",         "host_access",   "host_copy",      "begin_capture",
      "end_capture",  "child_graph",  "conditional",   "capture_dependencies", "clone_graph", "instantiate",
      "update_graph", "change_nodes", "upload_graph", "launch_graph", "create_stream", "register_host", "unregister_host",
      "module_global", "enable_peer_access", "disable_peer_access", "set_name", "destroy_graph",
      "create_memory_pool", "compile", "load_module"};
  const auto i = static_cast<std::size_t>(kind);
  return i < names.size() ? names[i] : "unknown";
}

// --- Operations -------------------------------------------------------------------------------------------------------

namespace detail {

ToolNotice::ToolNotice(const Device& device, OperationKind kind, const char* name) noexcept {
  operation_.id = last_operation.fetch_add(1, std::memory_order_relaxed) + 1;
  operation_.kind = kind;
  operation_.name = name;
  operation_.device = &device;
}

ToolNotice::ToolNotice(const Stream& stream, OperationKind kind, const char* name, const CaptureState& capture) noexcept
    : ToolNotice(stream.device(), kind, name) {
  operation_.stream = &stream;
  operation_.stream_key = key_of(stream);
  operation_.capture = capture.id;
}

ToolNotice::ToolNotice(const Stream& stream, OperationKind kind, const char* name)
    : ToolNotice(stream, kind, name, StreamCore::known_capture(stream)) {}

ToolNotice& ToolNotice::allocation(const Allocation& memory) {
  operation_.allocation = &memory;
  return writes(memory.data(), memory.size_bytes());
}

ToolNotice& ToolNotice::awaits(const Stream& other) noexcept {
  operation_.awaited = key_of(other);
  return *this;
}

ToolNotice& ToolNotice::kernel(const Kernel& kernel, const LaunchConfig& config, std::span<const MemoryAccess> accesses) {
  operation_.kernel = &kernel;
  operation_.config = &config;
  Thread& thread = weir::this_thread();
  if (thread.in_tool) return *this;
  if (std::exchange(thread.has_touches, false)) {
    accesses_ = std::exchange(thread.touches, {});
    return *this;
  }
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].bytes != 0) accesses_.push_back(known_access(kernel, i, accesses[i]));
  }
  return *this;
}

MemoryAccess known_access(const Kernel& kernel, std::size_t parameter, MemoryAccess access) noexcept {
  if (parameter >= kernel.parameters().size()) return access;
  const Parameter& known = kernel.parameters()[parameter];
  if (known.access == AccessKind::read) access.kind = AccessKind::read;
  if (access.kind == AccessKind::read_write || access.kind == AccessKind::atomic) access.update = known.update;
  return access;
}

ToolNotice& ToolNotice::captures(std::span<UniqueFunction<void(Stream&)>> bodies) {
  operation_.bodies = bodies.size();
  if (Captures::instance().work(operation_.device->backend(), operation_.capture) == nullptr) return *this;
  for (auto& body : bodies) {
    std::shared_ptr<CapturedWork> inner = CapturedWork::make();
    bodies_.push_back(inner);
    body = [inner, body = std::make_unique<UniqueFunction<void(Stream&)>>(std::move(body))](Stream& stream) {
      Captures::instance().write_down(stream, inner);
      (*body)(stream);
      if (stream.is_closed()) return;
      if (const GraphPtr graph = impl(stream).do_captured_graph()) inner->settle(impl(*graph).do_topology());
    };
  }
  return *this;
}

void ToolNotice::begin() {
  if (is_silent()) return;
  const Thread& thread = weir::this_thread();
  operation_.accesses = accesses_;
  operation_.thread = detail::this_thread();
  operation_.host_function = thread.host_function;
  operation_.tag = thread.ranges.empty() ? std::string_view() : thread.ranges.back();
  begun_ = true;
  const support::UnshownCalls scope;
  for (const auto& tool : all().list) {
    tool->before(operation_);
    ++told_;
  }
  if (operation_.kind == OperationKind::launch_graph) weir::this_thread().launch = operation_.id;
  if (operation_.capture == 0 || operation_.stream == nullptr || !traits_of(operation_.kind).may_be_captured) return;
  captured_work_ = Captures::instance().work(operation_.device->backend(), operation_.capture);
  if (captured_work_ != nullptr) after_ = impl(*operation_.stream).do_capture_dependencies({operation_.capture});
}

void ToolNotice::begin_always() noexcept {
  try {
    begin();
  } catch (const std::exception& error) {
    support::log(support::LogLevel::error, "a tool has refused an operation that cannot be refused: ", error.what());
  } catch (...) {
    support::log(support::LogLevel::error,
                 "a tool has refused an operation that cannot be refused, by an object that is not a std::exception");
  }
}

namespace {

/// Returns the node that a captured operation has added to the graph; nullopt if it cannot be determined.
std::optional<GraphNode> captured_node(const Operation& operation) noexcept try {
  const OperationTraits traits = traits_of(operation.kind);
  if (!traits.may_be_captured) return std::nullopt;
  const std::vector<GraphNode> nodes = impl(*operation.stream).do_capture_dependencies({operation.capture});
  return nodes.size() == 1 ? std::optional(nodes.front()) : std::nullopt;
} catch (const std::exception&) {
  return std::nullopt;
}

void record_in(CapturedWork& work, const Operation& operation, const std::vector<GraphNode>& after,
             std::vector<std::shared_ptr<const CapturedWork>>&& bodies) noexcept try {
  work.record(operation, after, std::move(bodies));
} catch (const std::exception& error) {
  // The operation is missing in the record. `settle` will find a node without an operation, so that saving fails with an
  // error.
  support::log(support::LogLevel::warn, "a captured operation cannot be saved: ", error.what());
}

}  // namespace

void ToolNotice::end(bool has_failed) noexcept {
  if (!std::exchange(begun_, false)) return;
  operation_.accesses = accesses_;
  operation_.has_failed = has_failed;
  weir::this_thread().launch = 0;
  const support::UnshownCalls scope;
  if (operation_.capture != 0 && operation_.stream != nullptr && !has_failed) operation_.node = captured_node(operation_);
  if (captured_work_ != nullptr && !has_failed) record_in(*captured_work_, operation_, after_, std::move(bodies_));
  for (std::size_t i = told_; i-- > 0;) all().list[i]->after(operation_);
}

void ToolNotice::set_result(const StreamPtr& stream) noexcept {
  if (!stream) return;
  operation_.stream = stream.get();
  operation_.stream_key = key_of(*stream);
}

void ToolNotice::set_result(void* memory) noexcept {
  if (!accesses_.empty()) accesses_.front().address = memory;
}

// --- Host functions ---------------------------------------------------------------------------------------------------

namespace {

/// Exists while a host function runs. Reports its begin and end to tools.
class HostFunctionRuns {
 public:
  explicit HostFunctionRuns(std::uint64_t id) noexcept
      : id_(id), outer_(std::exchange(weir::this_thread().host_function, id)) {
    for (const auto& tool : all().list) tool->begin_host_function(id_);
  }
  ~HostFunctionRuns() {
    for (const auto& tool : all().list) tool->end_host_function(id_);
    weir::this_thread().host_function = outer_;
  }
  HostFunctionRuns(const HostFunctionRuns&) = delete;
  HostFunctionRuns& operator=(const HostFunctionRuns&) = delete;

 private:
  std::uint64_t id_, outer_;
};

}  // namespace

HostFunction watched_function(std::uint64_t id, HostFunction&& function) {
  if (is_silent() || !is_watched()) return std::move(function);
  return [id, function = std::make_unique<HostFunction>(std::move(function))] {
    const HostFunctionRuns runs(id);
    (*function)();
  };
}

StreamCallback watched_callback(std::uint64_t id, StreamCallback&& callback) {
  if (is_silent()) return std::move(callback);
  return [id, callback = std::make_unique<StreamCallback>(std::move(callback))](Stream& stream, std::error_code status) {
    const HostFunctionRuns runs(id);
    (*callback)(stream, status);
  };
}

// --- Annotations by host code -----------------------------------------------------------------------------------------

void note_host_access(const Allocation& allocation, const void* data, std::size_t bytes) {
  if (is_silent()) return;
  ToolNotice notice(allocation.device(), OperationKind::host_access, "Buffer::host");
  notice->allocation = &allocation;
  notice.touches({data, bytes}).run([] {});
}

void begin_range(std::string_view name) {
  weir::this_thread().ranges.emplace_back(name);
  if (is_silent()) return;
  const support::UnshownCalls scope;
  for (const auto& tool : all().list) tool->begin_range(name);
}

void end_range() noexcept {
  std::vector<std::string>& ranges = weir::this_thread().ranges;
  if (!ranges.empty()) ranges.pop_back();
  if (is_silent()) return;
  const support::UnshownCalls scope;
  for (const auto& tool : all().list) tool->end_range();
}

void forget_touches() noexcept { weir::this_thread().has_touches = false; }

void declare_touches(std::span<const MemoryAccess> accesses) {
  weir::this_thread().touches.assign(accesses.begin(), accesses.end());
  weir::this_thread().has_touches = true;
}

void note_external_work(StreamRef on, const char* name, std::span<const MemoryAccess> accesses) {
  if (!on) throw Error(Errc::invalid_argument, "external_work", name, "the stream is null");
  Stream& stream = *on;
  const StreamCall call(stream, "external_work");
  ToolNotice notice(stream, OperationKind::external, name, call.usable_capture());
  for (const MemoryAccess& access : accesses) notice.touches(access);
  notice.run([] {});
}

}  // namespace detail
}  // namespace weir
