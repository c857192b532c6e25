// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "weir/error.hpp"

/// What a sweep lets fail: calls of `operator new`, or calls of the driver.
namespace sweep {

class Injector {
 public:
  /// Counts calls from now on, on all threads, and lets the `n`-th fail. 0: none fails. `never`: none fails, all are
  /// counted.
  virtual void arm(std::uint64_t n) noexcept = 0;
  static constexpr std::uint64_t never = UINT64_MAX;
  /// The number of calls since then.
  virtual std::uint64_t calls() const noexcept = 0;
  /// Whether the call that must fail has happened.
  virtual bool has_failed() const noexcept = 0;
  /// The name of the failing call.
  virtual const char* function() const noexcept = 0;
  /// Prints the stack of the failing call to standard output, as "library+offset" lines for addr2line. Can be used in a
  /// signal handler.
  virtual void print_stack() const noexcept = 0;
  /// Whether this error reports the failing call; null for std::bad_alloc.
  virtual bool fits(const weir::Error* error) const = 0;
  /// Whether what the failing call leaves behind is no mistake. `logged`: what the library has logged. `thrown`: whether the
  /// run has ended with an exception.
  virtual bool may_leave_something(const std::string& logged, bool thrown) const = 0;
  /// How many objects of the driver there are.
  virtual std::int64_t objects() const noexcept { return 0; }

 protected:
  ~Injector() = default;
};

/// Lets calls of `operator new` fail.
Injector& allocations();
/// Lets calls of the driver return `code`. Call it before a backend is opened.
Injector& driver_calls(int code);

/// The number of blocks that `operator new` has allocated.
std::int64_t live_blocks() noexcept;

}  // namespace sweep
