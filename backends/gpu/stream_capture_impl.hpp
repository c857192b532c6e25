// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/conditional.hpp"
#include "backends/gpu/graph.hpp"
#include "backends/gpu/stream.hpp"

/// GpuStream: functions for captures.
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
  // The legacy default stream cannot capture, and must not be queried while a blocking stream captures.
  if (kind() == StreamKind::legacy_default || !device_.streams_capture()) return capture;
  const Submission submission(*this);
  Result result{};
  {
    [[maybe_unused]] const typename Api::CaptureLock::Question question(Device_::capture_lock());
    result = ask(capture, with_dependencies);
  }
  // `describe_handle`, because `describe` would query the driver again and fail again.
  if (result != Api::success) [[unlikely]] fail(api_, result, "Stream::capture_info", describe_handle());
  return capture;
}

template <class Api>
typename GpuStream<Api>::OwnStatus GpuStream<Api>::own_status() const noexcept {
  [[maybe_unused]] const typename Api::CaptureLock::Question question(Device_::capture_lock());
  Capture capture;
  const Result result = ask(capture, false);
  return {result == Api::success ? capture.status : CaptureStatus::invalidated, result};
}

template <class Api>
CaptureState GpuStream<Api>::do_capture_state() const {
  // The legacy default stream cannot capture, and must not be queried while a blocking stream captures.
  if (kind() == StreamKind::legacy_default || !device_.streams_capture()) return {};
  // The cheaper query comes first, because most streams do not capture. This query needs no capture lock.
  bool captures = false;
  const Result result = submitted([&] { return api_.is_capturing(native(), captures); }, Submission::CallOrder::none);
  if (result != Api::success) [[unlikely]] fail(api_, result, "Stream::capture_info", describe_handle());
  if (!captures) [[likely]] return {};
  const Capture capture = this->capture();
  return {capture.status == CaptureStatus::active ? capture.id : 0, capture.status};
}

// --- Begin and end ----------------------------------------------------------------------------------------------------

/// Begins a capture and returns its id. `into`: the graph that it continues, or null.
template <class Api>
template <class F>
std::uint64_t GpuStream<Api>::begin_native(const char* operation, typename Api::GraphHandle into, F&& begin_capture) {
  const Submission submission(*this);
  leave_records_behind();
  Capture begun;
  Result result{}, asked{};
  {
    const std::lock_guard lock(Device_::capture_lock());
    result = begin_capture();
    if (result == Api::success) asked = ask(begun, false);
  }
  if (asked != Api::success) {
    typename Api::GraphHandle graph = nullptr;
    (void)end_native(graph);
    if (graph != nullptr && graph != into) (void)destroy_graph(api_, graph);
  }
  if (result == Api::illegal_state) {  // another thread has begun a capture on this stream meanwhile
    throw Error(Errc::already_capturing, operation, describe_handle(), support::capture_refusal(Errc::already_capturing),
                native_error(api_, result));
  }
  if (result == Api::success) result = asked;
  if (result != Api::success) fail(api_, result, operation, describe_handle());
  return begun.id;
}

template <class Api>
GraphPtr GpuStream<Api>::do_end_capture(CaptureResources&& kept) {
  const char* const operation = "Stream::end_capture";
  const Submission submission(*this);
  typename Api::GraphHandle graph = nullptr;
  const bool is_unusable = !kept.open_bodies.empty();
  const auto result = is_unusable ? end_beside_open_bodies(kept.open_bodies, graph) : end_native(graph);
  if (is_unusable && result == Api::success) {
    if (kept.resumed != nullptr) static_cast<GpuGraph<Api>&>(*kept.resumed).lose();
    throw Error(Errc::capture_invalidated, operation, describe(),
                "an error invalidated the capture of a conditional node's body, so the graph is unusable; capture it again");
  }
  if (result == Api::illegal_state) {
    throw Error(Errc::not_capturing, operation, describe(), "the capture was ended by other code",
                native_error(api_, result));
  }
  auto* const resumed = static_cast<GpuGraph<Api>*>(kept.resumed.get());
  if constexpr (!Api::destroys_capturing_streams()) {
    capture_is_anothers_ = Api::meaning(result).errc == Errc::capture_wrong_thread;
  }
  if (result != Api::success) {
    // A capture that continues a graph owns that graph: if the capture fails, the driver destroys it.
    if (resumed != nullptr) resumed->lose();
    if (graph != nullptr) (void)destroy_graph(api_, graph);  // a tool may inject a failure after a successful call
    check(result, operation);
  }
  if (resumed == nullptr) {
    return GpuGraph<Api>::own(device_, graph, [&]() -> KeptModules {
      if (kept.modules.empty()) return nullptr;
      return std::make_shared<const std::vector<ModulePtr>>(std::move(kept.modules));
    });
  }
  resumed->keep(std::move(kept.modules));
  return std::move(kept.resumed);
}

/// Ends a capture whose graph has conditional nodes with invalidated bodies. If such a body's capture is ended, the driver
/// (580) destroys the body's graph, although the conditional node still refers to it. The driver then crashes when the node
/// is used or destroyed, or when the outer capture fails. So the bodies are ended only if the outer capture succeeds, and
/// then its graph is leaked; otherwise the bodies stay open.
template <class Api>
typename GpuStream<Api>::Result GpuStream<Api>::end_beside_open_bodies(std::vector<std::shared_ptr<const void>>& bodies,
                                                                       typename Api::GraphHandle& graph) {
  const bool fails = own_status().status != CaptureStatus::active;
  for (auto& body : bodies) {
    if (!fails) {
      (void)end_native(static_cast<Handle>(const_cast<void*>(body.get())), graph);
    } else {
      BodyCapture::leave_open_for_ever(std::move(body));
    }
  }
  graph = nullptr;
  const Result result = end_native(graph);
  support::log(support::LogLevel::warn, describe_handle(),
               ": a graph is leaked, because the capture of a conditional node's body failed and the driver would crash");
  return result;
}

// --- Ownership --------------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_keep_in_graph(const ModulePtr& module, const CaptureState&) {
  keep_in_capture(*module);
}

// --- Child graphs ---------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::add_child(typename Api::GraphHandle graph, const char* operation) {
  const Capture capture = this->capture(true);
  // The graph came from capture_info, or external code captures into it; the driver would recurse without end.
  if (graph == capture.graph) {
    throw Error(Errc::capture_unsupported, operation, describe(),
                "this is the graph that is being captured, which cannot be a node of itself; the capture continues");
  }
  typename Api::NodeHandle node = nullptr;
  const auto result =
      api_.GraphAddChildGraphNode(&node, capture.graph, capture.dependencies.data(), capture.dependencies.size(), graph);
  check_copy(api_, result, operation, *this);
  go_on_behind({&node, 1}, operation);
}

// --- Dependencies -----------------------------------------------------------------------------------------------------

template <class Api>
std::vector<GraphNode> GpuStream<Api>::do_capture_dependencies(const CaptureState&) const {
  const char* const operation = "Stream::last_captured_node";
  const Submission submission(*this);
  const Capture capture = this->capture(true);
  if (capture.graph == nullptr) return {};
  const auto nodes = nodes_of(api_, capture.graph, operation, *this);
  std::vector<GraphNode> dependencies;
  for (const auto node : capture.dependencies) {
    // Searches from the end, because the wanted node is usually the newest.
    const auto found = std::find(nodes.rbegin(), nodes.rend(), node);
    if (found != nodes.rend()) dependencies.push_back({static_cast<std::uint32_t>(nodes.rend() - found - 1)});
  }
  return dependencies;
}

template <class Api>
void GpuStream<Api>::do_set_capture_dependencies(std::span<const GraphNode> dependencies, const CaptureState&) {
  const char* const operation = "Stream::set_capture_dependencies";
  const Submission submission(*this);
  const auto nodes = nodes_of(api_, capture().graph, operation, *this);
  std::vector<typename Api::NodeHandle> behind;
  for (const GraphNode node : dependencies) {
    if (node.index >= nodes.size()) support::throw_no_such_node(operation, describe(), node, nodes.size());
    if (std::find(behind.begin(), behind.end(), nodes[node.index]) == behind.end()) behind.push_back(nodes[node.index]);
  }
  go_on_behind(behind, operation);
  leaves_nodes_behind_ = true;
}

// --- Conditional nodes ------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                                            std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& outer) {
  const bool loop = kind == ConditionalKind::while_nonzero;
  const char* const operation = loop                                  ? "Stream::capture_while"
                                : kind == ConditionalKind::if_nonzero ? "Stream::capture_if"
                                                                      : "Stream::capture_switch";
  const ConditionalKernel<Api>& kernel = device_.conditional_kernel();
  const Submission submission(*this);
  typename Api::ConditionalHandle handle{};
  std::vector<typename Api::GraphHandle> graphs(bodies.size());
  // From here on the graph contains the condition, and only the driver can fail. A failure leaves the graph unusable, so the
  // capture is invalidated.
  const auto break_capture = [&] { (void)api_.StreamQuery(native()); };
  check(api_.create_condition(device_.context(), this->capture().graph, handle), operation);
  make_owner(
      [&] {
        check(kernel.launch(native(), handle, condition), operation);
        const Capture capture = this->capture(true);
        typename Api::NodeHandle node = nullptr;
        check(api_.add_conditional_node(device_.context(), capture.graph, capture.dependencies.data(),
                                        capture.dependencies.size(), handle, kind, node, graphs),
              operation);
        go_on_behind({&node, 1}, operation);
      },
      break_capture);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    bool is_spoiled = true;  // whether the conditional node is unusable if its body fails now
    make_owner(
        [&] {
          capture_body(operation, bodies[i], graphs[i], outer, loop, is_spoiled, [&](const GpuStream& stream) {
            if (loop) check(kernel.launch(stream.native(), handle, condition), operation);
          });
        },
        [&] {
          if (is_spoiled) break_capture();
        });
  }
}

/// Captures the body of a conditional node into `graph`. `is_spoiled`: set to whether the node is unusable if this throws.
/// `finish(stream)` adds the last work to the body: in a loop, the kernel that sets the condition. Without it the loop would
/// never end.
template <class Api>
template <class F>
void GpuStream<Api>::capture_body(const char* operation, UniqueFunction<void(Stream&)>& body,
                                  typename Api::GraphHandle graph, const CaptureState& outer, bool loop,
                                  bool& is_spoiled, F&& finish) {
  // The body is captured on a separate stream, which no other code can use.
  std::shared_ptr<const void> native_stream;
  const StreamPtr stream = device_.create_body_stream(native_stream);
  auto& body_stream = static_cast<GpuStream&>(*stream);
  BodyCapture capture(body_stream, outer, [&] {
    // The mode is relaxed, so this capture restricts no thread if it has to stay open. The outer capture and the core still
    // enforce the restrictions of the outer capture's mode.
    return body_stream.begin_native(operation, graph, [&] {
      return api_.begin_capture_to_graph(body_stream.native(), graph, nullptr, 0,
                                         Api::capture_mode(CaptureMode::relaxed));
    });
  });
  is_spoiled = loop;
  const auto end = [&] { body_stream.end_body(operation, *this, graph, capture, native_stream, is_spoiled); };
  make_owner(
      [&] {
        capture.run(operation, *this, body);
        finish(body_stream);
        is_spoiled = false;
      },
      [&] {
        try {
          end();
        } catch (const std::exception& e) {  // the caller rethrows the function's own error instead
          support::log(support::LogLevel::debug, "while the capture of a body was dropped: ", e.what());
        }
      });
  end();
  stream->close();
}

/// Ends the capture of a body on this stream. If a capture fails, the driver (580) destroys the body's graph, although the
/// conditional node still refers to it. So a capture that would fail is never ended: unjoined work is joined first, and an
/// invalidated capture stays open until the outer capture ends.
template <class Api>
void GpuStream<Api>::end_body(const char* operation, const GpuStream& outer, typename Api::GraphHandle graph,
                              BodyCapture& capture, const std::shared_ptr<const void>& native_stream, bool& is_spoiled) {
  typename Api::GraphHandle ended = nullptr;
  const auto [status, asked] = own_status();
  if (status == CaptureStatus::none) {
    return check(end_native(ended), operation);  // external code has already ended the capture; the driver reports the error
  }
  if (status == CaptureStatus::invalidated) {
    is_spoiled = !capture.leave_open(native_stream);
    throw Error(Errc::capture_invalidated, operation, outer.describe(),
                "an error invalidated the capture of the body; the end of the outer capture will also throw this",
                asked == Api::success ? NativeError() : native_error(api_, asked));
  }
  bool is_joined = true;
  make_owner(
      [&] {
        auto leaves = leaves_of(api_, graph, operation, *this);
        const auto last = this->capture(true).dependencies;
        is_joined = leaves_nodes_behind_ || std::ranges::all_of(leaves, [&](auto leaf) {
                      return std::ranges::find(last, leaf) != last.end();
                    });
        if (!is_joined || leaves_nodes_behind_) go_on_behind(leaves, operation);
      },
      [&] { (void)end_native(ended); });
  check(end_native(ended), operation);
  if (!is_joined) BodyCapture::refuse_unjoined(operation, outer);
}

}  // namespace weir::gpu
