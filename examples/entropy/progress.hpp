// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace entropy {

/// A progress bar on standard error, for as long as the object lives. It appears only on a terminal and only after half a
/// second of work; at the end it clears its line.
class Progress {
 public:
  /// `done` counts up to `total` on any thread; both are in bytes.
  Progress(std::string label, const std::atomic<std::uint64_t>& done, std::uint64_t total);
  ~Progress();

 private:
  void show(double seconds) const;

  std::string label_;
  const std::atomic<std::uint64_t>& done_;
  std::uint64_t total_;
  std::jthread thread_;
};

}  // namespace entropy
