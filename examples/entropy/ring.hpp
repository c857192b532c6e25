// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/weir.hpp"

namespace entropy {

/// Synchronizes the readers, the submitting thread and the streams of a ring of slots. The rounds of a slot are numbered
/// from 1. In each round, a reader fills the slot, and then the slot's stream drains it.
class Ring {
 public:
  /// Creates the ring. If the device has write and wait values, streams themselves wait for the readers, so a round is
  /// enqueued before its part of the file is read. Otherwise, the submitting thread waits for the reader before it enqueues
  /// a round, and the reader waits for an event after the previous round.
  static std::unique_ptr<Ring> make(weir::Device& device, std::size_t slots);
  virtual ~Ring() = default;

  virtual std::string_view means() const noexcept = 0;

  // Called by readers, on any number of threads.

  /// Reports that the slot contains the data of `round`.
  virtual void set_filled(std::size_t slot, std::uint32_t round) = 0;
  /// Whether the results of `round` are complete, so that the slot's buffers may be overwritten. True for round 0.
  virtual bool is_drained(std::size_t slot, std::uint32_t round) const = 0;

  // Called by the submitting thread.

  /// Whether the round can be enqueued now.
  virtual bool may_submit(std::size_t slot, std::uint32_t round) const = 0;
  /// Enqueue the ring's operations before and after the round's work on the slot's stream.
  virtual void begin_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) = 0;
  virtual void end_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) = 0;

  /// Lets all waiting streams continue after an error, because no reader will fill their slots.
  virtual void release() noexcept = 0;
  /// Resets to round 0. The streams must be idle.
  virtual void restart() = 0;
};

}  // namespace entropy
