// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace entropy {

/// A progress bar on standard error, for as long as the object lives. Shown on a terminal only, and only once the work has
/// lasted half a second; leaves an empty line behind.
class Progress {
 public:
  /// `done` counts up to `total`, both in bytes, on any thread.
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
