// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support.hpp"

/// Helpers for the cases about captures.
namespace conformance {

/// Whether the stream's device can capture. If not, asserts that a capture is refused.
inline bool needs_capture(Stream& s) {
  return needs(s, {Feature::graph_capture}, [&] { s.begin_capture(); });
}

/// Whether the device has a feature that is used in captures. If not, asserts that it is refused in a capture, and that the
/// capture continues.
inline bool needs_in_capture(Stream& s, Feature feature, const std::function<void()>& use) {
  if (!needs_capture(s)) return false;
  if (s.device().supports(feature)) return true;
  s.begin_capture();
  (void)needs(s.device(), {feature}, use);
  CHECK(s.capture_status() == CaptureStatus::active);
  CHECK(s.end_capture()->node_count() == 0);
  CHECK_WORKS(s);
  return false;
}

/// Launches a graph once and waits for it.
inline void run(const GraphPtr& graph, Stream& s) {
  graph->instantiate()->launch(s);
  s.synchronize();
}

inline constexpr CaptureMode all_modes[] = {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed};

/// Makes a call on another thread. Assertions must stay on this thread, because doctest does not support others.
inline Refusal refusal_on_another_thread(const std::function<void()>& call) {
  Refusal refusal;
  on_another_thread([&] {
    try {
      call();
    } catch (const weir::Error& e) {
      refusal.from_weir = true;
      refusal.errc = e.errc();
      refusal.text = e.what();
    }
  });
  return refusal;
}

/// Returns a topology as text, for messages.
inline std::string to_text(const Topology& t) {
  std::string text;
  for (std::size_t i = 0; i < t.nodes.size(); ++i)
    text += std::to_string(i) + ":" + std::string(to_string(t.nodes[i])) + " ";
  for (const auto& [from, to] : t.edges) text += std::to_string(from) + "->" + std::to_string(to) + " ";
  return text;
}

}  // namespace conformance
