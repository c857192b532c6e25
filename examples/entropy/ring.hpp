// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/weir.hpp"

namespace entropy {

/// What readers, the submitting thread and the streams tell each other about a ring of slots. Rounds of a slot count from 1:
/// a reader fills the slot, the slot's stream drains it, and only then is it filled again.
class Ring {
 public:
  /// With write and wait values where the device has them: the streams wait for the readers themselves, so that a round is
  /// enqueued before its part of the file is read. Else with events: the submitting thread waits for the reader, and the
  /// reader for an event behind the round.
  static std::unique_ptr<Ring> make(weir::Device& device, std::size_t slots);
  virtual ~Ring() = default;

  virtual std::string_view means() const noexcept = 0;

  // For readers, any number of threads.

  /// The slot holds what `round` is to count.
  virtual void set_filled(std::size_t slot, std::uint32_t round) = 0;
  /// Whether the slot's results of `round` are there and its buffers may be overwritten. True for round 0.
  virtual bool is_drained(std::size_t slot, std::uint32_t round) const = 0;

  // For the submitting thread.

  /// Whether it is time to enqueue the round.
  virtual bool may_submit(std::size_t slot, std::uint32_t round) const = 0;
  /// What stands before and behind the round's work on the slot's stream.
  virtual void begin_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) = 0;
  virtual void end_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) = 0;

  /// Lets streams go on that wait for a reader, because none will come.
  virtual void release() noexcept = 0;
  /// Back to round 0. The streams are idle.
  virtual void restart() = 0;
};

}  // namespace entropy
