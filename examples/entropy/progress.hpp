// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace entropy {

/// A progress bar on standard error while this object exists. It appears only on a terminal, and only after half a second.
/// The destructor erases it.
class Progress {
 public:
  /// `done`: the number of bytes done, which any thread may increase up to `total`.
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
