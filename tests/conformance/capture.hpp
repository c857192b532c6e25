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

/// Launches a graph or an executable once and waits for it.
inline void run(const GraphPtr& graph, Stream& s) {
  graph->instantiate()->launch(s);
  s.synchronize();
}
inline void run(const GraphExecPtr& exec, Stream& s) {
  exec->launch(s);
  s.synchronize();
}

inline constexpr CaptureMode all_modes[] = {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed};

/// Makes a call on another thread. Assertions must stay on this thread, because doctest does not support others.
inline Refusal refusal_on_another_thread(const std::function<void()>& call) {
  Refusal refusal;
  on_another_thread([&] { refusal = caught(call); });
  CHECK_MESSAGE(refusal.from_weir == refusal.threw, refusal.text);
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

using NodePairs = std::initializer_list<std::pair<std::uint32_t, std::uint32_t>>;
/// Asserts that the first node of each pair comes before the second, and that the two of a pair in `apart` are not ordered.
inline void check_topology(const Topology& t, NodePairs ordered, NodePairs apart = {}) {
  INFO(to_text(t));
  for (const auto& [from, to] : ordered) CHECK_MESSAGE(t.reaches(from, to), from << " is to come before " << to);
  for (const auto& [one, other] : apart)
    CHECK_MESSAGE((!t.reaches(one, other) && !t.reaches(other, one)), one << " and " << other << " are ordered");
}

/// For cases of captures by `s`.
struct Capture : WithBoard {
  bool is_possible() { return needs_capture(*s); }
};
/// With another stream.
struct CaptureAndOther : WithOther {
  bool is_possible() { return needs_capture(*s); }
};
/// With a stream that joins the capture.
struct Fork : Capture {
  const StreamPtr forked = device().create_stream();

  void finish() { check_usable({s, forked}); }
};

/// A capture around a wrong call. It must continue, and its graph must have the work before and after the call.
class Survivor {
 public:
  /// Does not begin the capture yet, for cases with several captures.
  explicit Survivor(Stream& stream) : stream_(stream) {}
  Survivor(Stream& stream, CaptureMode mode) : stream_(stream) { begin(mode); }
  ~Survivor() {
    try {
      if (open_) (void)stream_.end_capture();
    } catch (const std::exception&) {
      // The case has failed before.
    }
  }
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;

  void begin(CaptureMode mode = CaptureMode::thread_local_) {
    stream_.begin_capture(mode);
    open_ = true;
    board_.set(stream_, 0, 77);
  }
  void end() {
    CHECK(stream_.capture_status() == CaptureStatus::active);
    board_.show(stream_, 0);
    open_ = false;
    graph_ = stream_.end_capture();
    CHECK(stream_.capture_status() == CaptureStatus::none);
  }
  void check() {
    REQUIRE(graph_);
    CHECK(graph_->node_count() == 2);
    run(graph_, stream_);
    CHECK(board_[0] == 77);
    CHECK_WORKS(stream_);
  }
  void finish() {
    end();
    check();
  }

 private:
  Board board_;
  Stream& stream_;
  GraphPtr graph_;
  bool open_ = false;
};

}  // namespace conformance
