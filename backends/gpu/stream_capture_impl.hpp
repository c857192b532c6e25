// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/conditional.hpp"
#include "backends/gpu/graph.hpp"
#include "backends/gpu/stream.hpp"

/// GpuStream: capture.
namespace weir::gpu {

// --- State ------------------------------------------------------------------------------------------------------------

template <class Api>
typename GpuStream<Api>::Result GpuStream<Api>::ask(Capture& capture, bool with_dependencies) const {
  const typename Api::NodeHandle* dependencies = nullptr;
  std::size_t count = 0;
  const auto result = api_.capture_info(native(), capture.status, capture.id, capture.graph,
                                        with_dependencies ? &dependencies : nullptr, with_dependencies ? &count : nullptr);
  if (result != Api::success || capture.status == CaptureStatus::none) {
    capture = Capture{};
  } else if (dependencies != nullptr) {
    capture.dependencies.assign(dependencies, dependencies + count);
  }
  return result;
}

template <class Api>
typename GpuStream<Api>::Capture GpuStream<Api>::capture(bool with_dependencies) const {
  Capture capture;
  // The legacy default stream cannot capture, and cannot be asked while a blocking stream does.
  if (kind() == StreamKind::legacy_default) return capture;
  const Submission submission(*this);
  Result result{};
  {
    const std::shared_lock lock(Device_::capture_lock());
    result = ask(capture, with_dependencies);
  }
  check(result, "Stream::capture_info");
  return capture;
}

template <class Api>
CaptureInfo GpuStream<Api>::do_capture_info(bool with_graph) const {
  const Capture capture = this->capture();
  CaptureInfo info{.status = capture.status, .id = capture.id, .graph = nullptr};
  if (capture.status != CaptureStatus::active) {
    info.id = 0;
  } else if (with_graph && capture.graph != nullptr) {
    info.graph = make<GpuGraph<Api>>(device_, capture.graph, GraphOwnership::of_capture);
  }
  return info;
}

template <class Api>
void GpuStream<Api>::append(typename Api::NodeHandle node) {
  check(api_.set_capture_dependencies(native(), &node, 1), "Stream::capture_info");
}

// --- Begin and end ----------------------------------------------------------------------------------------------------

template <class Api>
std::uint64_t GpuStream<Api>::do_begin_capture(CaptureMode mode) {
  return begin_noted("Stream::begin_capture", nullptr,
                     [&] { return api_.StreamBeginCapture(native(), Api::capture_mode(mode)); });
}

template <class Api>
std::uint64_t GpuStream<Api>::do_resume_capture(const GraphPtr& graph, CaptureMode mode) {
  auto& continued = static_cast<GpuGraph<Api>&>(*graph);
  const std::vector<typename Api::NodeHandle> leaves = continued.prepare_resume();
  return begin_noted("Stream::resume_capture", graph, [&] {
    return api_.begin_capture_to_graph(native(), continued.native(), leaves.data(), leaves.size(), Api::capture_mode(mode));
  });
}

/// Begins a capture and notes it; what cannot be noted is ended.
template <class Api>
template <class F>
std::uint64_t GpuStream<Api>::begin_noted(const char* operation, const GraphPtr& resumed, F&& begin_capture) {
  const Submission submission(*this);
  Capture begun;
  Result result{}, asked{};
  {
    // In one go: once it is over, another thread may see the capture and end it.
    const std::lock_guard lock(Device_::capture_lock());
    result = begin_capture();
    if (result == Api::success) asked = ask(begun, false);
  }
  if (result == Api::illegal_state) {  // another thread was faster
    throw Error(Errc::already_capturing, operation, describe(), "the stream is capturing already; that capture goes on",
                native_error(api_, result));
  }
  check(result, operation);
  try {
    check(asked, operation);
    keeper_.began(begun.id, resumed);
    return begun.id;
  } catch (...) {
    typename Api::GraphHandle graph = nullptr;
    if (end_native(graph) != Api::success) {
      if (resumed) static_cast<GpuGraph<Api>&>(*resumed).lose();
    } else if (!resumed) {
      (void)api_.GraphDestroy(graph);
    }
    throw;
  }
}

template <class Api>
typename GpuStream<Api>::Result GpuStream<Api>::end_native(typename Api::GraphHandle& graph) {
  const std::lock_guard lock(Device_::capture_lock());
  return api_.StreamEndCapture(native(), &graph);
}

template <class Api>
GraphPtr GpuStream<Api>::do_end_capture(std::uint64_t id) {
  const char* const operation = "Stream::end_capture";
  if (role_ == StreamRole::conditional_body) {
    throw Error(Errc::capture_unmatched, operation, describe(),
                "this stream captures the body of a conditional node, which ends when the function that captures it returns");
  }
  const Submission submission(*this);
  // Before the driver ends it: from then on another thread may begin the next.
  auto [modules, resumed] = keeper_.ended(id);
  typename Api::GraphHandle graph = nullptr;
  const auto result = end_native(graph);
  if (result == Api::illegal_state) {
    throw Error(Errc::not_capturing, operation, describe(), "the capture was ended by other code", native_error(api_, result));
  }
  if (result != Api::success) {
    // A graph that is being continued is the capture's, and the driver destroys it with a capture that fails.
    if (resumed) static_cast<GpuGraph<Api>&>(*resumed).lose();
    check(result, operation);
  }
  if (resumed) {
    static_cast<GpuGraph<Api>&>(*resumed).keep(modules);
    return resumed;
  }
  return make<GpuGraph<Api>>(device_, graph, GraphOwnership::own, std::make_shared<const KeptModules>(std::move(modules)));
}

// --- Ownership --------------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::keep_in_capture(const Capture& capture, const RefCounted& object) {
  object.retain();
  give_to_graph(api_, capture.graph, const_cast<RefCounted*>(&object), &release_reference, "Stream::capture_info", *this);
}

/// For each launch of a kernel on a stream that may be capturing.
template <class Api>
[[gnu::always_inline]] inline void GpuStream<Api>::keep_module(const ModulePtr& module) {
  // While no capture begins or ends, what was kept is kept: the driver need not be asked which capture this is.
  const std::uint64_t epoch = keeper_.epoch();
  if (kept_epoch_.load(std::memory_order_acquire) == epoch && kept_module_.load(std::memory_order_relaxed) == module.get()) {
    return;
  }
  keep_new_module(module, epoch);
}

template <class Api>
void GpuStream<Api>::keep_new_module(const ModulePtr& module, std::uint64_t epoch) {
  const Capture capture = this->capture();
  if (capture.status != CaptureStatus::active) return;
  keep_module_in_capture(capture, module);
  if (!keeper_.knows(capture.id)) return;  // foreign code's captures begin and end without Weir's knowledge
  kept_module_.store(module.get(), std::memory_order_relaxed);
  kept_epoch_.store(epoch, std::memory_order_release);
}

template <class Api>
void GpuStream<Api>::keep_module_in_capture(const Capture& capture, const ModulePtr& module) {
  if (!keeper_.keep(capture.id, module)) keep_in_capture(capture, *module);
}

// --- Nodes that are not captured work ---------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::add_child(typename Api::GraphHandle graph, const KeptModules& modules, const Capture& capture) {
  if (graph == capture.graph) {  // drivers follow it without end
    throw Error(
        Errc::invalid_argument, "Stream::add_child_graph", describe(),
        "the capture continues this graph, which cannot be a node of itself; add a clone of it, or launch an executable "
        "that was made of it before the capture; the capture goes on");
  }
  for (const ModulePtr& module : modules) keep_module_in_capture(capture, module);
  typename Api::NodeHandle node = nullptr;
  check(api_.GraphAddChildGraphNode(&node, capture.graph, capture.dependencies.data(), capture.dependencies.size(), graph),
        "Stream::add_child_graph");
  append(node);
}

template <class Api>
void GpuStream<Api>::do_add_child_graph(const Graph& graph) {
  const Submission submission(*this);
  const Capture capture = this->capture(true);
  static_cast<const GpuGraph<Api>&>(graph).with_handle(
      [&](auto handle, const KeptModules& modules) { add_child(handle, modules, capture); });
}

template <class Api>
void GpuStream<Api>::refuse_in_conditional_body(const Capture& capture, const char* operation, const char* what) const {
  if (!device_.is_conditional_body(capture.id)) return;
  throw Error(Errc::capture_unsupported, operation, describe(),
              std::string("this captures the body of a conditional node, and drivers do not run ") + what +
                  " there; bodies hold kernels, copies, fills, child graphs and conditional nodes; the capture goes on");
}

// --- Conditional nodes ------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_capture_conditional(const std::uint32_t* condition, bool loop, UniqueFunction<void(Stream&)>&& body) {
  const char* const operation = loop ? "Stream::capture_while" : "Stream::capture_if";
  ConditionalKernel<Api>& kernel = device_.conditional_kernel();
  const Submission submission(*this);
  typename Api::ConditionalHandle handle{};
  check(api_.create_condition(device_.context(), capture().graph, handle), operation);
  check(kernel.launch(native(), handle, condition), operation);
  const Capture capture = this->capture(true);
  typename Api::NodeHandle node = nullptr;
  typename Api::GraphHandle body_graph = nullptr;
  check(api_.add_conditional_node(device_.context(), capture.graph, capture.dependencies.data(), capture.dependencies.size(),
                                  handle, loop, node, body_graph),
        operation);
  append(node);

  // The body is captured on a stream of its own, which nobody else knows.
  const StreamPtr stream = device_.create_body_stream();
  auto& body_stream = static_cast<GpuStream&>(*stream);
  Result begun{};
  {
    const std::lock_guard lock(Device_::capture_lock());
    begun = api_.begin_capture_to_graph(body_stream.native(), body_graph, nullptr, 0,
                                        Api::capture_mode(CaptureMode::thread_local_));
  }
  check(begun, operation);
  struct End {
    GpuStream& stream;
    std::uint64_t id;
    bool ended = false;
    Result end() noexcept {
      ended = true;
      stream.device_.remove_conditional_body(id);
      (void)stream.keeper_.ended(id);
      typename Api::GraphHandle graph = nullptr;
      return stream.end_native(graph);
    }
    ~End() {
      if (!ended) (void)end();
    }
  } body_capture{body_stream, body_stream.capture().id};
  device_.add_conditional_body(body_capture.id);
  keeper_.began_body(body_capture.id, capture.id);
  body(*stream);
  if (loop) check(kernel.launch(body_stream.native(), handle, condition), operation);
  const auto result = body_capture.end();
  stream->close();
  check(result, operation);
}

}  // namespace weir::gpu
