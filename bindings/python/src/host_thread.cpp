// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/host_thread.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "bindings/python/src/gate.hpp"
#include "bindings/python/src/gil.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::python {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

thread_local bool on_host_thread = false;

/// How long the GIL may be out of reach before streams that wait for a function continue without it.
std::chrono::seconds patience() {
  return std::chrono::seconds(support::environment_number("WEIR_PYTHON_GIL_TIMEOUT", 30, 1, 1'000'000));
}

class HostThread {
 public:
  /// `streams_wait`: streams wait for the tasks, and must not if the GIL is out of reach.
  HostThread(const char* name, bool streams_wait) noexcept : name_(name), streams_wait_(streams_wait) {}

  void start() {
    if (started_) return;
    const std::lock_guard lock(mutex_);
    if (started_) return;
    patience_ = patience();
    const support::SignalsBlocked blocked;  // Python handles signals on the program's own threads
    spawn(name_, [this] { loop(); });
    if (streams_wait_) {
      spawn("weir lock probe", [this] { probe(); });
      spawn("weir lock watch", [this] { watch(); });
    }
    started_ = true;
  }

  bool is_started() const noexcept { return started_; }

  void post(std::shared_ptr<Task> task, bool expects_more) noexcept {
    if (is_finalizing()) return task->abandon(false);
    bool sleeps = false;
    {
      const std::lock_guard lock(mutex_);
      expects_more_ = expects_more;
      tasks_.push_back(std::move(task));
      sleeps = sleeps_;
      if (++outstanding_ == 1) outstanding_.notify_all();
    }
    if (sleeps) wake_.notify_one();
  }

  void drop(PyObject* object) noexcept {
    if (object == nullptr || is_finalizing() || is_forked()) return;
    const std::lock_guard lock(mutex_);
    garbage_.push_back(object);
    if (sleeps_) wake_.notify_one();
  }

  std::optional<std::string> name_of(const std::uint32_t* word, std::uint32_t ticket) {
    const std::lock_guard lock(mutex_);
    const auto ask = [&](const std::shared_ptr<Task>& task) { return task ? task->name_of(word, ticket) : nullptr; };
    if (const std::string* const name = ask(running_)) return *name;
    for (const auto& task : tasks_)
      if (const std::string* const name = ask(task)) return *name;
    return std::nullopt;
  }

  void let_function_end() noexcept {
    yield_while(5us, [this] { return has_gil_.load(); });
  }

  void stop() {
    if (CallOwner::count != 0) nb::set_leak_warnings(false);  // functions that are never called keep their objects
    PyThreadState* const state = PyEval_SaveThread();
    abandon_requests();
    abandon_all(false);
    for (int i = 0; i < 1000 && is_running(); ++i)
      std::this_thread::sleep_for(1ms);  // a function that does not return is left alone
    PyEval_RestoreThread(state);
  }

 private:
  template <class F>
  static void yield_while(std::chrono::microseconds limit, F&& goes_on) noexcept {
    for (const auto end = Clock::now() + limit; goes_on() && Clock::now() < end;) std::this_thread::yield();
  }

  template <class F>
  static void spawn(const char* name, F&& body) {
    std::thread thread([name, body] {
      pthread_setname_np(pthread_self(), name);
      body();
    });
    thread.detach();
  }

  void loop() {
    on_host_thread = true;
    PyThreadState* const state = attach_thread();
    PyEval_SaveThread();
    std::vector<std::shared_ptr<Task>> done;  // destroyed without the GIL
    std::vector<PyObject*> garbage;
    for (;;) {
      if (expects_more_) yield_while(20us, [this] { return outstanding_ == 0; });
      {
        std::unique_lock lock(mutex_);
        sleeps_ = true;
        wake_.wait(lock, [this] { return !tasks_.empty() || !garbage_.empty(); });
        sleeps_ = false;
      }
      take_gil(state);
      has_gil_ = true;
      ++progress_;
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

  /// False if there is nothing to do. `running_` is null if there are only references to drop.
  bool begin_task(std::vector<PyObject*>& garbage) {
    if (is_finalizing()) return false;
    const std::lock_guard lock(mutex_);
    garbage.swap(garbage_);
    if (tasks_.empty()) return !garbage.empty();
    running_ = std::move(tasks_.front());
    tasks_.pop_front();
    return true;
  }

  void end_task(std::vector<std::shared_ptr<Task>>& done) {
    ++progress_;
    const std::lock_guard lock(mutex_);
    done.push_back(std::move(running_));
    running_ = nullptr;
    --outstanding_;
  }

  bool is_running() noexcept {
    const std::lock_guard lock(mutex_);
    return running_ != nullptr;
  }

  void abandon_all(bool stuck) noexcept {
    const std::lock_guard lock(mutex_);
    if (running_) running_->abandon(stuck);
    for (const auto& task : tasks_) task->abandon(stuck);
  }

  // --- Whether the GIL is within reach ----------------------------------------------------------------------------------
  // A thread may hold the GIL in a driver call that waits, directly or not, for the very stream that waits for a function.
  // No design can keep the order then. So the stream continues, and its next `sync` raises.

  /// Takes the GIL once whenever `watch` asks whether that is possible.
  void probe() {
    PyThreadState* const state = attach_thread();
    for (std::uint64_t answered = 0;; ++answered) {
      PyEval_SaveThread();
      asked_.wait(answered);
      take_gil(state);
      ++progress_;
    }
  }

  void watch() {
    const Clock::duration limit = patience_;
    const Clock::duration step = std::min<Clock::duration>(limit / 10, 500ms);
    std::uint64_t seen = 0;
    // Counts the steps, since the clock also runs while the process is stopped.
    Clock::duration quiet{};
    for (;;) {
      if (outstanding_ == 0) {
        outstanding_.wait(0);
        quiet = {};
      }
      std::this_thread::sleep_for(step);
      if (const std::uint64_t now = progress_; now != seen) {
        seen = now;
        quiet = {};
        asked_pending_ = false;
        continue;
      }
      quiet += step;
      if (!asked_pending_ && quiet > limit / 4) {
        asked_pending_ = true;
        ++asked_;
        asked_.notify_one();
      }
      if (quiet > limit) {
        abandon_all(true);
        quiet = {};
      }
    }
  }

  const char* const name_;
  const bool streams_wait_;
  std::chrono::seconds patience_{};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> started_{false};
  bool sleeps_ = false;
  std::atomic<bool> expects_more_{false}, has_gil_{false};
  std::deque<std::shared_ptr<Task>> tasks_;
  std::vector<PyObject*> garbage_;
  std::shared_ptr<Task> running_;              // changed with `mutex_` held
  std::atomic<std::uint32_t> outstanding_{0};  // tasks that are not done
  std::atomic<std::uint64_t> progress_{0};     // counts how often one of these threads got the GIL
  std::atomic<std::uint64_t> asked_{0};
  bool asked_pending_ = false;
};

/// Never destroyed: driver threads may outlive main.
HostThread& host_thread() {
  static HostThread* const thread = new HostThread("weir functions", true);
  return *thread;
}
HostThread& completion_thread() {
  static HostThread* const thread = new HostThread("weir completions", false);
  return *thread;
}

/// The exit status of a program that raised this exception. Prints the exception.
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
void post_completion(std::shared_ptr<Task> task) noexcept { completion_thread().post(std::move(task), false); }
void post(std::shared_ptr<Task> task, bool expects_more) noexcept { host_thread().post(std::move(task), expects_more); }
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
    status = 1;  // the output cannot be written
  }
  // Python finalizes only on its main thread, which the child lacks.
  ::_exit(status);
}
void stop_host_thread() {
  if (is_forked()) return;
  host_thread().stop();
  completion_thread().stop();
}

}  // namespace weir::python
