// SPDX-License-Identifier: Apache-2.0
#include "python/src/releaser.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "python/src/gil.hpp"
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
  struct Held {
    PyObject* object;
    Device* device;
  };

  static void wait_for_devices(const std::vector<Held>& objects) noexcept {
    std::vector<Device*> waited;
    for (const Held& held : objects) {
      if (held.device == nullptr || std::find(waited.begin(), waited.end(), held.device) != waited.end()) continue;
      waited.push_back(held.device);
      try {
        held.device->synchronize();
      } catch (const Error&) {
        // A capture forbids it, or the device is lost: whoever captures keeps what the graph uses.
      }
    }
  }

  void wake() noexcept {
    if (!started_) std::thread([this] { loop(); }).detach();
    started_ = true;
    work_.notify_one();
  }

  void loop() {
    PyThreadState* const state = attach_thread();
    PyEval_SaveThread();
    for (;;) {
      std::vector<AllocationPtr> memory;
      std::vector<Held> objects;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [this] { return !memory_.empty() || !objects_.empty(); });
        memory.swap(memory_);
        objects.swap(objects_);
      }
      memory.clear();
      if (objects.empty()) continue;
      wait_for_devices(objects);
      take_gil(state);
      for (const Held& held : objects) Py_DECREF(held.object);
      PyEval_SaveThread();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<AllocationPtr> memory_;
  std::vector<Held> objects_;
  bool started_ = false;
};

/// Never destroyed: other libraries let go of memory at any time.
Releaser& releaser() {
  static Releaser* const one = new Releaser;
  return *one;
}

}  // namespace

void release_later(AllocationPtr memory) noexcept { releaser().add(std::move(memory)); }
void release_later(PyObject* object, Device* device) noexcept { releaser().add(object, device); }

}  // namespace weir::python
