// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/host_thread.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/signal_words.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::python {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds spin_time{50}, shortest_sleep{10}, longest_sleep{1000};
thread_local bool on_host_thread = false;

}  // namespace

void HostThread::start(const char* operation) {
  if (is_forked()) {
    throw Error(
        Errc::forked_process, operation, "",
        "the process was forked after it had used Weir, and the thread that calls Python functions is the parent's; start "
        "processes by multiprocessing's method 'spawn'");
  }
  start_unless_started();
}

void HostThread::start_unless_started() {
  if (started_) return;
  const std::lock_guard lock(mutex_);
  if (started_) return;
  const support::SignalsBlocked blocked;  // signals must reach the program's own threads, where Python handles them
  std::thread([this] { loop(); }).detach();
  started_ = true;
}

void HostThread::post(std::shared_ptr<Task> task) noexcept {
  if (is_finalizing()) return task->abandon();
  std::unique_lock lock(mutex_);
  tasks_.push_back(std::move(task));
  wake(lock);
}

void HostThread::drop(PyObject* object) noexcept {
  if (object == nullptr || is_finalizing() || is_forked()) return;
  start_unless_started();
  std::unique_lock lock(mutex_);
  garbage_.push_back(object);
  wake(lock);
}

void HostThread::expect(const std::shared_ptr<Requests>& requests, std::uint32_t ticket, std::shared_ptr<Task> task) {
  if (is_finalizing()) return task->abandon();
  std::unique_lock lock(mutex_);
  requests->expected.push_back({ticket, std::move(task)});
  if (std::exchange(requests->is_polled, true)) return;
  polled_.push_back(requests);
  quiet_since_ = Clock::now();
  wake(lock);
}

void HostThread::forget(Requests& requests, std::uint32_t ticket) noexcept {
  const std::lock_guard lock(mutex_);
  if (!requests.expected.empty() && requests.expected.back().ticket == ticket) requests.expected.pop_back();
}

void HostThread::abandon(Requests& requests) noexcept {
  std::deque<Requests::Expected> abandoned;
  {
    const std::lock_guard lock(mutex_);
    abandoned.swap(requests.expected);
  }
  for (const auto& one : abandoned) one.task->abandon();
}

void HostThread::let_function_end() noexcept {
#if !defined(Py_GIL_DISABLED)
  if (on_host_thread) return;
  for (const auto end = Clock::now() + 5us; has_gil_ && Clock::now() < end;) std::this_thread::yield();
#endif
}

void HostThread::stop() noexcept {
  const auto is_running = [this] {
    const std::lock_guard lock(mutex_);
    return running_ != nullptr;
  };
  {
    const std::lock_guard lock(mutex_);
    if (running_) running_->abandon();
    for (const auto& task : tasks_) task->abandon();
    for (const auto& requests : polled_)
      for (const auto& one : requests->expected) one.task->abandon();
  }
  for (int i = 0; i < 1000 && is_running(); ++i)
    std::this_thread::sleep_for(1ms);  // the limit is for a function that does not return
}

/// Wakes the thread. Unlocks first, because otherwise the woken thread would wait for the lock.
void HostThread::wake(std::unique_lock<std::mutex>& lock) noexcept {
  const bool sleeps = sleeps_;
  lock.unlock();
  if (sleeps) wake_.notify_one();
}

void HostThread::loop() {
  on_host_thread = true;
  pthread_setname_np(pthread_self(), name_);
  prctl(PR_SET_TIMERSLACK, 1000UL);  // otherwise each sleep takes 50 us longer
  PyThreadState* const state = attach_thread();
  PyEval_SaveThread();
  std::vector<std::shared_ptr<Task>> done;  // destroyed without the GIL
  std::vector<PyObject*> garbage;
  for (;;) {
    wait_for_work();
    take_gil(state);
    has_gil_ = true;
    while (done.size() < 64 && begin_task(garbage)) {
      for (PyObject* const object : std::exchange(garbage, {})) Py_DECREF(object);
      if (!running_) continue;
      running_->run();
      const std::lock_guard lock(mutex_);
      done.push_back(std::exchange(running_, nullptr));
    }
    PyEval_SaveThread();
    has_gil_ = false;
    // This thread must not wait for a driver, which may be waiting for this thread.
    const support::HostFunctionScope reclaimed;
    done.clear();
  }
}

/// Returns when there are tasks to run or references to drop. Polls the requests of streams. Never calls the driver, because
/// the driver may wait for a function.
void HostThread::wait_for_work() noexcept {
  std::unique_lock lock(mutex_);
  quiet_since_ = Clock::now();
  for (;;) {
    take_requested();
    if (!tasks_.empty() || !garbage_.empty()) return;
    const auto quiet = Clock::now() - quiet_since_;
    if (quiet < spin_time && !polled_.empty()) {  // the next request is likely to come soon
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      continue;
    }
    std::erase_if(polled_, [](const auto& requests) {
      if (requests->expected.empty()) requests->is_polled = false;
      return !requests->is_polled;
    });
    sleeps_ = true;
    if (polled_.empty())
      wake_.wait(lock);
    else  // sleep for a small part of the time waited so far, so that a request is seen with a small relative delay
      wake_.wait_for(lock, std::clamp<Clock::duration>(quiet / 16, shortest_sleep, longest_sleep));
    sleeps_ = false;
  }
}

/// Moves the requested tasks to `tasks_`. Call it with `mutex_` held.
void HostThread::take_requested() noexcept {
  for (const auto& requests : polled_) {
    auto& expected = requests->expected;
    const std::uint32_t requested = read_word(requests->word);
    for (; !expected.empty() && !is_before(requested, expected.front().ticket); expected.pop_front())
      tasks_.push_back(std::move(expected.front().task));
  }
}

/// Returns false if there is nothing to do. `running_` is null if there are only references to drop.
bool HostThread::begin_task(std::vector<PyObject*>& garbage) {
  if (is_finalizing()) return false;
  const std::lock_guard lock(mutex_);
  garbage.swap(garbage_);
  take_requested();
  if (tasks_.empty()) return !garbage.empty();
  running_ = std::move(tasks_.front());
  tasks_.pop_front();
  return true;
}

// Never destroyed, because driver threads may run after main.
HostThread& function_thread() {
  static HostThread* const thread = new HostThread("weir functions");
  return *thread;
}
HostThread& completion_thread() {
  static HostThread* const thread = new HostThread("weir callbacks");
  return *thread;
}

bool is_host_thread() noexcept { return on_host_thread; }

}  // namespace weir::python
