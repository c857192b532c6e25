// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/host_thread.hpp"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/signal_words.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::python {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

thread_local bool on_host_thread = false;

class HostThread {
 public:
  explicit HostThread(const char* name) noexcept : name_(name) {}

  void start() {
    if (started_) return;
    const std::lock_guard lock(mutex_);
    if (started_) return;
    const support::SignalsBlocked blocked;  // signals must reach the program's own threads, where Python handles them
    std::thread([this] { loop(); }).detach();
    started_ = true;
  }

  bool is_started() const noexcept { return started_; }

  void post(std::shared_ptr<Task> task) noexcept {
    if (is_finalizing()) return task->abandon();
    std::unique_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    wake(lock);
  }

  void drop(PyObject* object) noexcept {
    if (object == nullptr || is_finalizing() || is_forked()) return;
    std::unique_lock lock(mutex_);
    garbage_.push_back(object);
    wake(lock);
  }

  void expect(const std::shared_ptr<Requests>& requests, std::uint32_t ticket, std::shared_ptr<Task> task) {
    if (is_finalizing()) return task->abandon();
    std::unique_lock lock(mutex_);
    requests->expected.push_back({ticket, std::move(task)});
    if (std::exchange(requests->is_polled, true)) return;
    polled_.push_back(requests);
    quiet_since_ = Clock::now();
    wake(lock);
  }

  bool forget(Requests& requests, std::uint32_t ticket) noexcept {
    const std::lock_guard lock(mutex_);
    if (requests.expected.empty() || requests.expected.back().ticket != ticket) return false;
    requests.expected.pop_back();
    return true;
  }

  void abandon(Requests& requests) noexcept {
    std::deque<Requests::Expected> abandoned;
    {
      const std::lock_guard lock(mutex_);
      abandoned.swap(requests.expected);
    }
    for (const auto& one : abandoned) one.task->abandon();
  }

  std::optional<std::string> name_of(const std::uint32_t* word, std::uint32_t ticket) {
    const std::lock_guard lock(mutex_);
    const auto ask = [&](const std::shared_ptr<Task>& task) { return task ? task->name_of(word, ticket) : nullptr; };
    if (const std::string* const name = ask(running_)) return *name;
    for (const auto& task : tasks_)
      if (const std::string* const name = ask(task)) return *name;
    for (const auto& requests : polled_)
      for (const auto& one : requests->expected)
        if (const std::string* const name = ask(one.task)) return *name;
    return std::nullopt;
  }

  void let_function_end() noexcept {
    for (const auto end = Clock::now() + 5us; has_gil_ && Clock::now() < end;) std::this_thread::yield();
  }

  void stop() {
    PyThreadState* const state = PyEval_SaveThread();
    abandon_all();
    for (int i = 0; i < 1000 && is_running(); ++i)
      std::this_thread::sleep_for(1ms);  // the limit is for a function that does not return
    PyEval_RestoreThread(state);
  }

 private:
  static constexpr std::chrono::microseconds spin_time{50}, shortest_sleep{10}, longest_sleep{1000};

  /// Wakes the thread. Unlocks first, because otherwise the woken thread would wait for the lock.
  void wake(std::unique_lock<std::mutex>& lock) noexcept {
    const bool sleeps = sleeps_;
    lock.unlock();
    if (sleeps) wake_.notify_one();
  }

  void loop() {
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
      while (begin_task(garbage)) {
        for (PyObject* const object : garbage) Py_DECREF(object);
        garbage.clear();
        if (running_) {
          running_->run();
          end_task(done);
        }
        if (done.size() >= 64) break;
      }
      PyEval_SaveThread();
      has_gil_ = false;
      // This thread must not wait for a driver, which may be waiting for this thread.
      const support::HostFunctionScope reclaimed;
      done.clear();
    }
  }

  /// Returns when there are tasks to run or references to drop. Polls the requests of streams. Never calls the driver,
  /// because the driver may wait for a function.
  void wait_for_work() noexcept {
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
  void take_requested() noexcept {
    for (const auto& requests : polled_) {
      const std::uint32_t requested = read_word(requests->word);
      if (std::exchange(requests->seen, requested) == requested) continue;
      auto& expected = requests->expected;
      for (; !expected.empty() && !is_before(requested, expected.front().ticket); expected.pop_front())
        tasks_.push_back(std::move(expected.front().task));
    }
  }

  /// Returns false if there is nothing to do. `running_` is null if there are only references to drop.
  bool begin_task(std::vector<PyObject*>& garbage) {
    if (is_finalizing()) return false;
    const std::lock_guard lock(mutex_);
    garbage.swap(garbage_);
    take_requested();
    if (tasks_.empty()) return !garbage.empty();
    running_ = std::move(tasks_.front());
    tasks_.pop_front();
    return true;
  }

  void end_task(std::vector<std::shared_ptr<Task>>& done) {
    const std::lock_guard lock(mutex_);
    done.push_back(std::move(running_));
    running_ = nullptr;
  }

  bool is_running() noexcept {
    const std::lock_guard lock(mutex_);
    return running_ != nullptr;
  }

  void abandon_all() noexcept {
    const std::lock_guard lock(mutex_);
    if (running_) running_->abandon();
    for (const auto& task : tasks_) task->abandon();
    for (const auto& requests : polled_)
      for (const auto& one : requests->expected) one.task->abandon();
  }

  const char* const name_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> started_{false};
  bool sleeps_ = false;
  std::atomic<bool> has_gil_{false};
  std::deque<std::shared_ptr<Task>> tasks_;
  std::vector<PyObject*> garbage_;
  std::shared_ptr<Task> running_;  // changed with `mutex_` held
  std::vector<std::shared_ptr<Requests>> polled_;
  Clock::time_point quiet_since_{};
};

/// Never destroyed, because driver threads may run after main.
HostThread& host_thread() {
  static HostThread* const thread = new HostThread("weir functions");
  return *thread;
}
HostThread& completion_thread() {
  static HostThread* const thread = new HostThread("weir callbacks");
  return *thread;
}

/// Prints the current exception, and returns the exit status of a program that ends with it.
int status_of_exception() {
  nb::python_error error;
  if (!error.matches(PyExc_SystemExit)) {
    error.restore();
    PyErr_Print();
    return 1;
  }
  const nb::object code = error.value().attr("code");
  if (code.is_none()) return 0;
  if (nb::isinstance<nb::int_>(code)) return nb::cast<int>(code);
  nb::module_::import_("sys").attr("stderr").attr("write")(nb::str(code) + nb::str("\n"));
  return 1;
}

}  // namespace

namespace {

void start(const char* operation, HostThread& thread) {
  if (is_forked()) {
    throw Error(
        Errc::forked_process, operation, "",
        "the process was forked after it had used Weir, and the thread that calls Python functions is the parent's; start "
        "processes by multiprocessing's method 'spawn'");
  }
  thread.start();
}

}  // namespace

void start_host_thread() { start("Stream.launch_host_func", host_thread()); }
void start_completion_thread() { start("Stream.add_callback", completion_thread()); }
bool has_host_thread() noexcept { return host_thread().is_started() || completion_thread().is_started(); }
void post_completion(std::shared_ptr<Task> task) noexcept { completion_thread().post(std::move(task)); }
void post(std::shared_ptr<Task> task) noexcept { host_thread().post(std::move(task)); }
void expect_request(const std::shared_ptr<Requests>& requests, std::uint32_t ticket, std::shared_ptr<Task> task) {
  host_thread().expect(requests, ticket, std::move(task));
}
bool forget_request(Requests& requests, std::uint32_t ticket) noexcept { return host_thread().forget(requests, ticket); }
void abandon_requests(Requests& requests) noexcept { host_thread().abandon(requests); }
void let_function_end() noexcept {
#if !defined(Py_GIL_DISABLED)
  if (!on_host_thread) host_thread().let_function_end();
#endif
}
std::optional<std::string> name_of_task(const std::uint32_t* word, std::uint32_t ticket) {
  return host_thread().name_of(word, ticket);
}
void drop_later(PyObject* object) noexcept {
  HostThread& started = host_thread().is_started() ? host_thread() : completion_thread();
  started.drop(object);
}
bool is_host_thread() noexcept { return on_host_thread; }
void leave_child(PyObject* result) {
  if (!is_forked()) return;
  int status = 0;
  try {
    if (result == nullptr) status = status_of_exception();
    for (const char* const name : {"stdout", "stderr"}) {
      const nb::object file = nb::module_::import_("sys").attr(name);
      if (!file.is_none()) file.attr("flush")();
    }
  } catch (const std::exception&) {
    status = 1;  // the output could not be written
  }
  // Python can finalize only on its main thread, which the child does not have.
  ::_exit(status);
}
void stop_host_thread() {
  if (is_forked()) return;
  host_thread().stop();
  completion_thread().stop();
}

}  // namespace weir::python
