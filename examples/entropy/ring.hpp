// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/weir.hpp"

namespace entropy {

/// The synchronization between readers, the submitting thread and the streams of a ring of slots. Rounds of a slot count
/// from 1: a reader fills the slot, the slot's stream drains it, and only then is it filled again.
class Ring {
 public:
  /// Uses write and wait values if the device has them: the streams themselves wait for the readers, so a round is enqueued
  /// before its part of the file is read. Otherwise it uses events: the submitting thread waits for the reader, and the
  /// reader for an event after the round.
  static std::unique_ptr<Ring> make(weir::Device& device, std::size_t slots);
  virtual ~Ring() = default;

  virtual std::string_view means() const noexcept = 0;

  // For readers, any number of threads.

  /// The slot contains the data of `round`.
  virtual void set_filled(std::size_t slot, std::uint32_t round) = 0;
  /// Whether the slot's results of `round` are complete and its buffers may be overwritten. True for round 0.
  virtual bool is_drained(std::size_t slot, std::uint32_t round) const = 0;

  // For the submitting thread.

  /// Whether the round can be enqueued now.
  virtual bool may_submit(std::size_t slot, std::uint32_t round) const = 0;
  /// Enqueue the ring's operations before and after the round's work on the slot's stream.
  virtual void begin_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) = 0;
  virtual void end_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) = 0;

  /// Releases streams that wait for a reader, because no reader will come.
  virtual void release() noexcept = 0;
  /// Resets to round 0. The streams must be idle.
  virtual void restart() = 0;
};

}  // namespace entropy
