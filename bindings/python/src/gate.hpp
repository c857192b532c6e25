// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/python/src/host_thread.hpp"
#include "bindings/python/src/thrown.hpp"
#include "weir/device.hpp"
#include "weir/health.hpp"

/// How streams and graphs wait for Python functions, and get their exceptions.
namespace weir::python {

struct StreamObject;

/// Makes one stream wait for its Python functions. Each function has a ticket number. The stream writes it to a word in
/// pinned memory, the request, which a thread polls. Then the stream waits until the host-function thread writes the same
/// number to another word. Functions end in ticket order.
///
/// If the device cannot do both in one batch, or tools are attached, a driver host function is the request: on an H200 that
/// costs ten times as much, and a driver queue has room for 55 of them. If the device cannot wait for values, the driver
/// thread itself blocks, and other host functions wait behind it.
class Gate : public std::enable_shared_from_this<Gate> {
 public:
  /// The gate of the native stream, made by the first call. It keeps `stream` alive. It lives as long as its owners, and
  /// while functions are pending or their exceptions are neither raised nor reported.
  static std::shared_ptr<Gate> of(const StreamPtr& stream);
  /// Null if the stream has none.
  static std::shared_ptr<Gate> find(const Stream& stream) noexcept;

  /// Identifies a native stream.
  using Key = std::pair<const Device*, const void*>;

  explicit Gate(StreamPtr stream);
  ~Gate();

  /// Enqueues a function, without the GIL. False if there was no room for a while: check for signals and try again.
  bool enqueue(const std::shared_ptr<PythonCall>& call, const std::string& name);
  /// If `work` is a wait for the gate's word, makes it name the function that the stream waits for.
  void explain(PendingWork& work) const;
  /// Raises the exceptions of functions of the stream, and of graphs that it launched.
  void raise();
  /// Keeps the gate alive until `raise`, or until nobody can call that any more: see `is_orphan`.
  void hold();
  /// Whether nobody can wait for the stream any more, except through `objects` Python objects.
  bool is_orphan(std::uint32_t objects) const noexcept;
  /// Passes what `raise` would raise to sys.unraisablehook. With the GIL held.
  void report() noexcept;

  // A traceback often refers to the stream, through a method of the object that made it. So that Python's garbage collector
  // finds this cycle, the first object that enqueues a function shows it the exception as its own. All with the GIL held.
  void claim(const StreamObject& object) noexcept {
    const StreamObject* nobody = nullptr;
    claimed_by_.compare_exchange_strong(nobody, &object);
  }
  /// The exception that the object owns; null if none.
  PyObject* exception_of(const StreamObject& object) const noexcept {
    return claimed_by_ == &object ? thrown_->exception() : nullptr;
  }
  /// The object is destroyed. If `unreachable`, only its exception refers to it: reports that if nobody else can wait for
  /// the stream. Otherwise only the gate owns the exception from now on.
  void disclaim(const StreamObject& object, bool unreachable) noexcept;
  /// A function has returned or was abandoned.
  void note_end() noexcept {
    {
      const std::lock_guard lock(room_mutex_);
      ++done_;
    }
    room_.notify_all();
  }
  /// Posts the calls that the stream has requested. False if there were none. This and the next two never call the driver.
  bool post_requested() noexcept;
  /// Abandons the calls that the stream has not requested yet.
  void abandon_calls() noexcept;
  /// True if there are no such calls: polling may stop until the next one.
  bool rest() noexcept;
  /// Abandons them if the device has failed. Called from time to time.
  void check() noexcept;
  /// Called when a graph is launched whose functions store their exceptions in `thrown`: the next `raise` raises them.
  void watch(const std::shared_ptr<Thrown>& thrown);

 private:
  struct Call {
    std::uint32_t ticket;
    std::shared_ptr<Task> task;
  };
  std::vector<std::shared_ptr<Thrown>> take_graphs();
  /// Enqueues the request and the wait. With `mutex_` held.
  void request(std::uint32_t ticket, std::shared_ptr<Task> task);

  const StreamPtr stream_;
  const Key key_;
  std::uint32_t* word_;
  std::uint32_t* request_ = nullptr;  // null: driver host functions are the requests
  bool counts_on_;  // whether a later ticket ends the wait for an earlier one, so that the word is reusable
  std::uint32_t issued_ = 0;
  // How many functions may be pending. An H200 has eight queues, which streams share; each has room for 1020 requests, or 55
  // host functions with their waits.
  static constexpr std::uint32_t most_requests = 256, most_host_functions = 32;
  std::atomic<std::uint32_t> begun_{0}, done_{0};
  std::mutex room_mutex_;  // for `done_`
  std::condition_variable room_;
  std::mutex mutex_;           // may be held while the stream's queue is full: never lock it with the GIL held
  std::mutex calls_mutex_;     // never held while a driver is called
  std::deque<Call> calls_;     // those that the stream has not requested yet
  std::uint32_t posted_ = 0;   // the last ticket that the thread which polls has seen
  bool is_polled_ = false;     // whether the thread polls the request
  std::uint32_t checked_ = 0;  // the first of `calls_` at the last check
  const std::shared_ptr<Thrown> thrown_ = std::make_shared<Thrown>();
  std::atomic<const StreamObject*> claimed_by_{nullptr};
  std::mutex graphs_mutex_;
  std::vector<std::shared_ptr<Thrown>> graphs_;
  std::size_t graphs_looked_at_ = 16;  // the size at which they are pruned next
};

/// Called at interpreter shutdown: abandons all calls that no stream has requested yet.
void abandon_requests() noexcept;
/// Called at interpreter shutdown with the GIL held: reports what no `raise` will raise any more.
void report_held() noexcept;

/// Adds a function to the graph that `stream` captures, without the GIL; each launch calls it. `thrown` stores its
/// exceptions. `portable`: for a graph to be saved, the driver thread blocks until the function has returned, since a loaded
/// graph has no word.
void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, const std::string& name, std::shared_ptr<Thrown> thrown,
                  bool portable);

/// For a loaded graph: a host function that posts the call and blocks until it has returned.
HostFunction waiting_call(std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown);

}  // namespace weir::python
