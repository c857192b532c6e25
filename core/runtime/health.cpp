// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/no_destructor.hpp"
#include "core/runtime/diagnosis_hook.hpp"
#include "core/runtime/submit.hpp"
#include "weir/plugin/support.hpp"

// Poisoned devices, and waits with a timeout.
namespace weir {

using detail::HealthCore;

std::atomic<bool> detail::process_exceptional{false};

// --- Poisoned devices -------------------------------------------------------------------------------------------------

namespace {

/// The list of all devices of all backends. Devices live until the process ends.
struct Devices {
  std::mutex mutex;
  std::vector<const Device*> list;

  static Devices& instance() noexcept {
    static detail::NoDestructor<Devices> devices;
    return *devices;
  }
};

}  // namespace

void HealthCore::add(Device& device) {
  Devices& devices = Devices::instance();
  const std::lock_guard lock(devices.mutex);
  devices.list.push_back(&device);
}

std::vector<const Device*> HealthCore::devices() {
  Devices& all = Devices::instance();
  const std::lock_guard lock(all.mutex);
  return all.list;
}

std::optional<Error> HealthCore::ask(const Device& device) { return impl(device).do_fault(); }

void HealthCore::poison(const Device& device, const Error& error) {
  auto health = std::make_unique<DeviceHealth>(DeviceHealth{error, operations_not_known_done(device)});
  const DeviceHealth* none = nullptr;
  if (!device.poison_.compare_exchange_strong(none, health.get(), std::memory_order_acq_rel)) return;
  (void)health.release();
  process_exceptional.store(true, std::memory_order_release);
}

void HealthCore::throw_poisoned(const Device& device, const char* operation, const std::string& object) {
  const Error& first = *device.poison_.load(std::memory_order_acquire)->error;
  throw Error(first.errc(), operation, object,
              fmt::format("the device has been poisoned since {} on {} failed: {}; host memory and other backends remain "
                          "usable; Device::health lists the suspects, and reports whether another device is lost, too",
                          first.operation(), first.object(), first.detail()),
              first.native());
}

void support::note_fault(const Error& error) noexcept try {
  for (const Device* const device : HealthCore::devices()) {
    if (!device->is_poisoned() && HealthCore::ask(*device)) HealthCore::poison(*device, error);
  }
} catch (const std::exception&) {
  // Out of memory: the device will be poisoned at the next failure.
}

void support::poison(const Device& device, const Error& error) noexcept try {
  HealthCore::poison(device, error);
} catch (const std::exception&) {
  // Out of memory: the device stays usable.
}

std::optional<Error> DeviceImpl::do_fault() const { return {}; }

DeviceHealth Device::health() const {
  detail::enter("Device::health");
  if (!is_poisoned()) {
    if (const std::optional<Error> fault = impl(*this).do_fault()) HealthCore::poison(*this, *fault);
  }
  const DeviceHealth* const poison = poison_.load(std::memory_order_acquire);
  return poison != nullptr ? *poison : DeviceHealth();
}

std::string DeviceHealth::describe() const {
  if (is_ok()) return "ok";
  std::string text = error->what();
  for (const Suspect& suspect : suspects) {
    text += fmt::format("\n  suspect: {}: {}", suspect.stream, suspect.work.describe());
  }
  return text;
}

// --- Deadlines --------------------------------------------------------------------------------------------------------

bool support::DeadlinePauses::next() noexcept {
  using namespace std::chrono_literals;
  constexpr std::uint32_t without_pause = 100;
  const auto left = deadline_ - std::chrono::steady_clock::now();
  if (left <= 0ns) return false;
  if (++count_ <= without_pause) {
    std::this_thread::yield();
  } else {
    const std::chrono::nanoseconds pause = 10us * (1U << std::min(count_ - without_pause, 7U));
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>({pause, 1ms, left}));
  }
  return true;
}

namespace {

using Time = std::chrono::steady_clock::time_point;

/// The present time plus `timeout`, or the greatest time if the sum overflows.
Time deadline_of(std::chrono::nanoseconds timeout) noexcept {
  const Time now = std::chrono::steady_clock::now();
  return timeout > Time::max() - now ? Time::max() : now + timeout;
}

template <class Object>
bool poll(const Object& is_complete, Time deadline) {
  for (support::DeadlinePauses pauses(deadline);;) {
    if (is_complete()) return true;
    if (!pauses.next()) return false;
  }
}

}  // namespace

bool StreamImpl::do_synchronize_until(Time deadline) {
  return poll([this] { return do_is_complete(); }, deadline);
}

bool EventImpl::do_synchronize_until(Time deadline) const {
  return poll([this] { return do_is_complete(); }, deadline);
}

namespace {

/// A wait with a timeout. Reported to tools as a query, because it may return before the work is done.
struct TimedWait {
  static constexpr OperationKind kind = OperationKind::query;
  static constexpr Capturing capturing = Capturing::by_driver;
  Time deadline;
  void describe(ToolNotice&) const {}
  bool enqueue(StreamImpl& stream, const CaptureState&) const { return stream.do_synchronize_until(deadline); }
};

}  // namespace

bool Stream::synchronize_for(Timeout timeout) {
  const StreamCall call(*this, "Stream::synchronize_for");
  call.check_host_wait();
  const Time deadline = deadline_of(timeout.nanoseconds());
  if (!perform(*this, call.operation(), {}, TimedWait{deadline})) return false;
  if (std::exception_ptr error = impl(*this).do_take_host_error()) std::rethrow_exception(std::move(error));
  return true;
}

bool DeviceImpl::do_synchronize_until(Time deadline) {
  struct Wait {
    std::mutex mutex;
    std::condition_variable over;
    bool is_over = false;
    std::exception_ptr error;
  };
  const auto wait = std::make_shared<Wait>();
  {
    const support::SignalsBlocked no_signals;
    std::thread([this, wait] {
      std::exception_ptr error;
      try {
        do_synchronize();
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(wait->mutex);
      wait->error = std::move(error);
      wait->is_over = true;
      wait->over.notify_one();
    }).detach();
  }
  // At least 10 ms, because even on an idle device the thread needs time to start and to call the driver.
  deadline = std::max(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
  std::unique_lock lock(wait->mutex);
  if (!wait->over.wait_until(lock, deadline, [&] { return wait->is_over; })) return false;
  if (wait->error) std::rethrow_exception(wait->error);
  return true;
}

bool Device::synchronize_for(Timeout timeout) {
  const Call call(*this, "Device::synchronize_for");
  detail::check_device_wait(call);
  const Time deadline = deadline_of(timeout.nanoseconds());
  return perform(
      *this, OperationKind::query, call.operation(), [](ToolNotice&) {},
      [&] { return impl(*this).do_synchronize_until(deadline); });
}

bool Event::synchronize_for(Timeout timeout) const {
  const char* const operation = "Event::synchronize_for";
  check_host_access(operation);
  Call(*this, operation).check_unsafe();
  const Time deadline = deadline_of(timeout.nanoseconds());
  return perform(device_, OperationKind::query, operation, [this](ToolNotice& notice) { notice->event = this; },
                 [&] { return impl(*this).do_synchronize_until(deadline); });
}

// --- Defaults for backends that cannot report what a stream waits for ---------------------------------------------------

PendingWork StreamImpl::do_pending() const {
  return {.kind = do_is_complete() ? PendingWork::Kind::nothing : PendingWork::Kind::unknown};
}

std::vector<BusyStream> DeviceImpl::do_busy_streams() const { return {}; }
std::vector<ValueWriter> DeviceImpl::do_writers_of(const MemoryOperation&) const { return {}; }

}  // namespace weir
