// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "weir/capture.hpp"
#include "weir/communicator.hpp"
#include "weir/event.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"
#include "weir/unique_function.hpp"

/// Work that begins when a stream comes to it and that other threads finish, while the stream waits and holds no thread.
namespace weir::collectives {

class Steps;

/// Ends a step: the stream goes on. Called once, on a thread that may call Weir: not in a host function.
class StepEnd {
 public:
  StepEnd() = default;
  StepEnd(StepEnd&& other) noexcept = default;
  StepEnd& operator=(StepEnd&& other) noexcept = default;
  void operator()() noexcept;

 private:
  friend class Steps;
  Ptr<Steps> steps_;
  std::uint32_t word_ = 0;
  std::uint32_t value_ = 0;
  bool captured_ = false;
};

/// The steps of one rank: they run one after the other, in the order in which they are enqueued.
///
/// A step is a host function, which begins it, and a wait for a value in memory (`Stream::wait_value`), which its end
/// writes. The value of a word only grows, so a word can be used again as soon as it was written: whoever still waits for
/// the former value goes on. The wait of a captured step is the same at each launch, so its word is the graph's own and
/// begins at 0 each time.
class Steps final : public RefCounted {
 public:
  using Begin = UniqueFunction<void(StepEnd)>;

  /// Throws `unsupported` if the device cannot do it.
  explicit Steps(Device& device);

  /// Enqueues a step. `begin` is called in a host function, at each launch if the stream captures.
  void enqueue(Stream& stream, const CaptureState& capture, Begin begin);

 private:
  friend class StepEnd;
  struct Word {
    std::uint32_t* address;
    std::uint32_t last = 0;  // the value of its last use
  };
  struct CapturedStep;

  std::byte* allocate_words();
  std::uint32_t take(std::vector<std::uint32_t>& free);
  void give_back(std::vector<std::uint32_t>& free, std::uint32_t word) noexcept;
  void end(std::uint32_t word, std::uint32_t value, bool captured) noexcept;

  Device& device_;
  const bool is_host_;
  StreamPtr writer_;   // on the host: its writes are noticed at once
  EventPtr last_end_;  // behind the last step that was not captured
  std::uint64_t last_stream_ = 0;

  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Word> words_;
  std::vector<std::uint32_t> free_, free_captured_;
};

/// The calls of a group, those of one rank and stream together: they are one step, so that its sends and receives can wait
/// for each other.
std::vector<std::vector<CollectiveCall>> by_stream(std::span<const CollectiveCall> calls);

/// Why steps cannot be captured on a device; empty if they can.
std::string capture_obstacle(const Device& device);

}  // namespace weir::collectives
