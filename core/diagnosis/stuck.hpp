// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "weir/plugin/tool.hpp"

/// Why a program does not go on: what WEIR_STUCK asks for. See docs/health.md.
namespace weir::detail {

/// Tells of each call of Weir that takes longer than the variable says, with what all streams wait for, and tells the same
/// to `weir stuck`, which asks by a socket.
class Stuck final : public Tool {
 public:
  /// Makes it, if the variable asks for it; null if not. Throws `invalid_environment`. Called once.
  static std::unique_ptr<Tool> make_if_wanted();

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    const Operation* operation;  // there until the call is over
    int thread;                  // the system's number of it
    Clock::time_point since;
    bool is_told;
  };

  explicit Stuck(std::chrono::milliseconds limit);
  void watch() noexcept;
  void answer() const;
  bool mark_late_calls();
  void tell(int file, const std::string& title) const;

  const std::chrono::milliseconds limit_;
  int listener_ = -1;
  mutable std::mutex mutex_;  // guards the calls
  std::map<std::uint64_t, Call> calls_;
};

/// The abstract address of the socket that tells what the process waits for: "weir-stuck-4711".
std::string stuck_address(int process);

}  // namespace weir::detail
