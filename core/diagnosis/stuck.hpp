// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "weir/plugin/tool.hpp"

/// Finds out why a program hangs: WEIR_STUCK. See docs/health.md.
namespace weir::detail {

/// Reports each Weir call that takes longer than the variable allows, with what all streams wait for. Sends the same report
/// to `weir stuck` over a Unix socket.
class Stuck final : public Tool {
 public:
  /// Creates it if the variable is set; otherwise returns null. Throws `invalid_environment`. Called once.
  static std::unique_ptr<Tool> make_if_wanted();

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    const Operation* operation;  // valid until the call is over
    int thread;                  // the thread's number in the system
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

/// The abstract address of the socket that sends the report: "weir-stuck-4711".
std::string stuck_address(int process);

}  // namespace weir::detail
