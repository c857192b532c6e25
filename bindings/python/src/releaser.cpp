// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/releaser.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "bindings/python/src/gil.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::python {
namespace {

class Releaser {
 public:
  void add(AllocationPtr memory) noexcept {
    if (is_forked()) return (void)memory.detach();
    const std::lock_guard lock(mutex_);
    memory_.push_back(std::move(memory));
    wake();
  }
  void add(PyObject* object, Device* device) noexcept {
    if (is_finalizing() || is_forked()) return;
    const std::lock_guard lock(mutex_);
    objects_.push_back({object, device});
    wake();
  }

 private:
  struct OwnedReference {
    PyObject* object;
    Device* device;
  };

  /// Waits for the work submitted so far. Returns false if an open capture forbids that.
  static bool is_idle(Device& device) noexcept try {
    try {
      device.synchronize();
      return true;
    } catch (const Error& error) {
      return error.errc() == Errc::device_fault && !device.health().is_ok();  // the device has failed, so its work is over
    }
  } catch (...) {
    return false;
  }

  /// Moves the references that may be dropped now to the front. Returns the end of that part.
  static std::vector<OwnedReference>::iterator split(std::vector<OwnedReference>& objects) {
    std::map<Device*, bool> idle{{nullptr, true}};
    return std::stable_partition(objects.begin(), objects.end(), [&](const OwnedReference& held) {
      const auto [known, is_new] = idle.try_emplace(held.device);
      if (is_new) known->second = is_idle(*held.device);
      return known->second;
    });
  }

  void wake() noexcept {
    if (!started_) std::thread([this] { loop(); }).detach();
    started_ = true;
    work_.notify_one();
  }

  void loop() {
    PyThreadState* const state = attach_thread();
    PyEval_SaveThread();
    std::vector<OwnedReference> objects;  // also contains references that could not be dropped earlier
    constexpr std::chrono::milliseconds soon{10}, late{1000};
    auto retry = soon;
    for (;;) {
      std::vector<AllocationPtr> memory;
      {
        std::unique_lock lock(mutex_);
        const auto is_called = [this] { return !memory_.empty() || !objects_.empty(); };
        if (objects.empty())
          work_.wait(lock, is_called);
        else
          work_.wait_for(lock, retry, is_called);
        memory.swap(memory_);
        objects.insert(objects.end(), objects_.begin(), objects_.end());
        objects_.clear();
      }
      memory.clear();
      if (is_finalizing()) objects.clear();  // leaked, because devices may be destroyed at any time now
      if (objects.empty()) continue;
      const auto end = split(objects);
      if (end != objects.begin()) {
        take_gil(state);
        std::for_each(objects.begin(), end, [](const OwnedReference& held) { Py_DECREF(held.object); });
        PyEval_SaveThread();
      }
      objects.erase(objects.begin(), end);
      retry = objects.empty() ? soon : std::min(2 * retry, late);
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<AllocationPtr> memory_;
  std::vector<OwnedReference> objects_;
  bool started_ = false;
};

/// Never destroyed, because other libraries may free memory at any time.
Releaser& releaser() {
  static Releaser* const one = new Releaser;
  return *one;
}

}  // namespace

void release_later(AllocationPtr memory) noexcept { releaser().add(std::move(memory)); }
void release_later(PyObject* object, Device* device) noexcept { releaser().add(object, device); }

}  // namespace weir::python
