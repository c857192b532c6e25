// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "weir/plugin/tool.hpp"

/// The report of calls that take too long, enabled by WEIR_STUCK. See docs/health.md.
namespace weir::detail {

/// If a call of Weir takes longer than the time in WEIR_STUCK, writes a report to standard error: all calls in progress, and
/// what each stream waits for. A thread watches the calls; it also sends the report to the command `weir stuck` over a Unix
/// socket. A tool, so it costs nothing if it is not enabled.
class Stuck final : public Tool {
 public:
  /// Creates the tool if WEIR_STUCK is set; otherwise returns null. Throws `invalid_environment`. Called once.
  static std::unique_ptr<Tool> make_if_wanted();

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    const Operation* operation;  // valid until `after` is called
    int thread;                  // the system's id of the thread (gettid)
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
  mutable std::mutex mutex_;  // guards `calls_`
  std::map<std::uint64_t, Call> calls_;
};

/// The abstract address of the socket of process `process`: "weir-stuck-4711".
std::string stuck_address(int process);

}  // namespace weir::detail
