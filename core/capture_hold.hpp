// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

/// Held around a short call that must not meet a capture: a stream-ordered free would become a node, or the capture break.
/// Captures that are about to begin wait for its end. Where `none_open` is false, one was open or opening already.
class CaptureHold {
 public:
  CaptureHold() noexcept;
  ~CaptureHold();
  CaptureHold(const CaptureHold&) = delete;
  CaptureHold& operator=(const CaptureHold&) = delete;
  bool none_open() const noexcept { return none_open_; }

  /// Waits for the holds that do not see the capture which the caller has counted in `open_captures`.
  static void wait_for_all() noexcept;

 private:
  std::atomic<std::uint32_t>& count_;
  bool none_open_;
};

}  // namespace weir::detail
