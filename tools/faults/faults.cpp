// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "tools/faults/plan.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

/// Injects the failures that WEIR_FAULTS lists.
namespace weir::faults {
namespace {

/// A rule and its state so far.
struct Watch {
  explicit Watch(Rule r, std::uint64_t s) : rule(std::move(r)), seed(s) {}
  const Rule rule;
  const std::uint64_t seed;
  std::atomic<std::uint64_t> seen{0}, met{0};
  /// The device, or the backend's driver, that a sticky rule has made unusable; null until that happens.
  std::atomic<const void*> lost{nullptr};
  std::atomic<int> code{0};  ///< the failure's number in the driver whose function the rule names
  std::atomic<bool> has_driver{false};

  /// Counts one operation or driver call that the rule applies to. Returns whether it is one of those that must fail.
  bool meets() noexcept {
    if (!rule.means(seen.fetch_add(1, std::memory_order_relaxed) + 1, seed)) return false;
    met.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
};

class Faults final : public Tool {
 public:
  explicit Faults(Plan plan) : counts_(plan.counts) {
    for (std::size_t i = 0; i < plan.rules.size(); ++i)
      watches_.emplace_back(std::move(plan.rules[i]), plan.seed + (i << 32U));
  }

  void before(const Operation& operation) override {
    count(to_string(operation.kind));
    const bool can_fail = operation.kind != OperationKind::free && operation.kind != OperationKind::destroy_graph;
    for (Watch& watch : watches_) {
      const Rule& rule = watch.rule;
      if (rule.is_of_driver()) continue;
      if (can_fail && watch.lost == operation.device)
        fail(operation, watch, "the device is lost because of the WEIR_FAULTS rule");
      if (rule.subject == Subject::operation ? rule.kind != operation.kind : !can_fail) continue;
      if (!watch.meets()) continue;
      if (rule.delay) {
        std::this_thread::sleep_for(*rule.delay);
        continue;
      }
      const bool poisons = rule.sticky && rule.errc == Errc::device_fault;  // Weir itself refuses later work on the device
      if (rule.sticky && !poisons) watch.lost = operation.device;
      fail(operation, watch, "it fails because of the WEIR_FAULTS rule", poisons);
    }
  }

  bool watches_driver(const Driver& driver) override {
    bool watches = counts_;
    for (Watch& watch : watches_) {
      const Rule& rule = watch.rule;
      if (!rule.is_of_driver()) continue;
      if (rule.subject == Subject::function && !is_function_of(rule.function, driver.backend)) continue;
      watch.code = native_code(rule, driver);
      watch.has_driver = true;
      watches = true;
    }
    return watches;
  }

  int before_driver_call(const DriverCall& call) noexcept override {
    count(call.function);
    int result = 0;
    for (Watch& watch : watches_) {
      const Rule& rule = watch.rule;
      if (!rule.is_of_driver()) continue;
      if (watch.lost == call.backend && !outlives_the_device(call.function)) result = watch.code;
      if (rule.subject == Subject::function && rule.function != call.function) continue;
      if (!watch.meets()) continue;
      if (rule.delay) {
        std::this_thread::sleep_for(*rule.delay);
      } else {
        result = watch.code;
        if (rule.sticky) watch.lost = call.backend;
        support::log(support::LogLevel::info, "faults: a call fails because of WEIR_FAULTS: ", rule.text);
      }
    }
    return result;
  }

  int finish() noexcept override {
    for (const Watch& watch : watches_) {
      const char* const what = watch.rule.delay ? "delayed" : "failed";
      const char* why = "";
      if (watch.seen == 0) {
        const bool lacks_driver = watch.rule.is_of_driver() && !watch.has_driver;
        why = lacks_driver ? ": no driver with this function was opened" : ": there was no such call";
      }
      std::fprintf(stderr, "weir faults: %s: %llu of %llu %s%s\n", watch.rule.text.c_str(),
                   static_cast<unsigned long long>(watch.met), static_cast<unsigned long long>(watch.seen), what, why);
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [name, calls] : calls_) {
      std::fprintf(stderr, "weir faults: %s: called %llu times\n", name.c_str(), static_cast<unsigned long long>(calls));
    }
    return 0;
  }

 private:
  [[noreturn]] static void fail(const Operation& operation, const Watch& watch, std::string_view why, bool poisons = false) {
    const Device& device = *operation.device;
    const Error error(watch.rule.errc, operation.name,
                      operation.stream != nullptr ? operation.stream->describe() : device.describe(),
                      fmt::format("{} '{}'", why, watch.rule.text));
    if (operation.kind == OperationKind::synchronize) wait(operation);
    if (poisons) {
      wait_for_all(device);
      support::poison(device, error);
    }
    throw error;
  }

  // A lost device runs no more work, so the program may free the memory of that work. Here the device still works, so wait
  // until its work has ended.
  static void wait_for_all(const Device& device) noexcept {
    try {
      const_cast<Device&>(device).synchronize();
    } catch (const std::exception&) {
      // The wait fails in a capture, for example. Then the device's work continues.
    }
  }

  // Waits before the program's wait is made to fail. Otherwise the program could free memory that work still uses.
  static void wait(const Operation& operation) noexcept {
    try {
      if (operation.event != nullptr) {
        const_cast<Event*>(operation.event)->synchronize();
      } else if (operation.stream != nullptr) {
        const_cast<Stream*>(operation.stream)->synchronize();
      } else {
        wait_for_all(*operation.device);
      }
    } catch (const std::exception&) {
      // Ignored: the operation fails in any case.
    }
  }

  void count(std::string_view name) noexcept {
    if (!counts_) return;
    const std::lock_guard lock(mutex_);
    try {
      ++calls_[std::string(name)];
    } catch (const std::exception&) {
      // Out of memory: the count misses one call.
    }
  }

  std::deque<Watch> watches_;
  const bool counts_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> calls_;
};

Tool* create() { return new Faults(parse(support::environment("WEIR_FAULTS").value_or(""))); }

}  // namespace
}  // namespace weir::faults

WEIR_TOOL("faults", WEIR_VERSION_STRING, weir::faults::create)
