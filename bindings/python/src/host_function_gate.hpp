// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/host_thread.hpp"
#include "weir/device.hpp"
#include "weir/fwd.hpp"
#include "weir/health.hpp"

/// Lets streams and graphs wait for Python functions, and collects the exceptions.
namespace weir::python {

struct StreamObject;

/// Stores the exception of a Python function until it is raised. If this is destroyed earlier, the exception is passed to
/// sys.unraisablehook.
class HostFunctionErrors {
 public:
  HostFunctionErrors() = default;
  HostFunctionErrors(const HostFunctionErrors&) = delete;
  HostFunctionErrors& operator=(const HostFunctionErrors&) = delete;
  ~HostFunctionErrors();
  /// Stores the current Python exception. Only the first is stored; later ones are passed to sys.unraisablehook. Call it
  /// with the GIL held.
  void keep(PyObject* callable);
  bool is_empty() const noexcept { return exception_ == nullptr; }
  /// Returns the stored exception, or null; for the garbage collector. Call it with the GIL held.
  PyObject* exception() const noexcept { return exception_; }
  /// Passes the exception to sys.unraisablehook. Call it with the GIL held.
  void report() noexcept;
  /// Raises the exception and forgets it. Call it with the GIL held.
  void raise(const Stream& stream);

 private:
  friend void report_left() noexcept;
  PyObject* take() noexcept;

  std::atomic<PyObject*> exception_{nullptr};
};

/// Reports all exceptions that were not raised. Called at interpreter shutdown with the GIL held.
void report_left() noexcept;

/// Makes one stream wait for its Python functions. Each function has a ticket number. The stream writes the number to a word
/// in pinned memory as a request, and the host-function thread polls that word. Then the stream waits until the thread
/// writes the number to a second word. Functions end in the order of their tickets.
///
/// If the device cannot write and wait in one batch, or if tools are attached, the request is a host function of the driver
/// instead. On an H200 this takes ten times as long, and a driver queue has room for only 55 of them. If the device cannot
/// wait for values, the driver thread itself blocks, which delays other host functions.
class HostFunctionGate : public std::enable_shared_from_this<HostFunctionGate> {
 public:
  /// Returns the gate of a native stream, which all Python objects over that stream share. The gate keeps `stream` alive. It
  /// exists as long as these objects do and while functions are pending; for a default stream, forever.
  static std::shared_ptr<HostFunctionGate> of(const StreamPtr& stream);
  /// Returns the stream's gate, or null.
  static std::shared_ptr<HostFunctionGate> find(const Stream& stream) noexcept;

  /// Identifies a native stream, together with its device.
  using Key = std::pair<const Device*, const void*>;

  explicit HostFunctionGate(StreamPtr stream);
  ~HostFunctionGate();

  /// Enqueues a function. Call it without the GIL. Returns false if there was no room for a while; then check for signals
  /// and try again.
  bool enqueue(const std::shared_ptr<PythonCall>& call, const std::string& name);
  /// If `work` is a wait for the gate's word, adds the name of the function that the stream waits for.
  void explain(PendingWork& work) const;
  /// Raises the exceptions of functions of the stream, and of the graphs that it has launched.
  void raise();
  /// Passes the exceptions that `raise` would raise to sys.unraisablehook. Call it with the GIL held.
  void report() noexcept;
  /// Claims the exception for one Python object, which then shows it to the garbage collector. The first object that
  /// enqueues a function gets it. Call it with the GIL held.
  void claim(const StreamObject& object) noexcept {
    const StreamObject* nobody = nullptr;
    claimed_by_.compare_exchange_strong(nobody, &object);
  }
  bool is_claimed_by(const StreamObject& object) const noexcept { return claimed_by_ == &object; }
  void disclaim(const StreamObject& object) noexcept {
    const StreamObject* expected = &object;
    claimed_by_.compare_exchange_strong(expected, nullptr);
  }
  /// Count the Python objects over the stream. Each one calls `add_object` when it is made, `remove` when it is destroyed.
  void add_object() noexcept { ++objects_; }
  void remove(const StreamObject& object) noexcept {
    disclaim(object);
    --objects_;
  }
  bool has_one_object() const noexcept { return objects_ == 1; }
  /// Returns the exception that `raise` would raise, or null; for the garbage collector. Call it with the GIL held.
  PyObject* exception() const noexcept { return thrown_->exception(); }
  /// Adds a launched graph, whose functions store their exceptions in `thrown`. The next `raise` also raises these.
  void watch(const std::shared_ptr<HostFunctionErrors>& thrown);
  /// Records that a function has returned or was abandoned. If it has `raised`, call this with the GIL held.
  void record_end(std::uint32_t ticket, bool raised) noexcept;

 private:
  void prepare();
  std::vector<std::shared_ptr<HostFunctionErrors>> take_graphs();

  const StreamPtr stream_;
  const Key key_;
  std::once_flag prepared_;  // the first function sets it, together with these:
  std::atomic<std::uint32_t*> word_{nullptr};
  std::shared_ptr<Requests> requests_{};  // null: host functions of the driver are the requests
  bool counts_on_ = false;  // whether a later ticket also ends the wait for an earlier one, so that the word can be reused
  std::uint32_t issued_ = 0;
  // Limits on pending functions. An H200 has eight queues, which streams share. Each has room for 1020 requests, or for 55
  // host functions with their waits.
  static constexpr std::uint32_t most_requests = 256, most_host_functions = 32;
  mutable std::mutex pending_mutex_;              // guards `pending_`
  std::map<std::uint32_t, std::string> pending_;  // the names of the pending functions, by ticket
  std::condition_variable room_;
  std::mutex mutex_;  // may be held while the stream's queue is full, so never lock it with the GIL held
  const std::shared_ptr<HostFunctionErrors> thrown_ = std::make_shared<HostFunctionErrors>();
  std::atomic<const StreamObject*> claimed_by_{nullptr};
  std::atomic<int> objects_{0};
  std::mutex graphs_mutex_;
  std::vector<std::shared_ptr<HostFunctionErrors>> graphs_;
};

/// Adds a function to the graph that `stream` captures; each launch calls it. Call this without the GIL. `thrown`: stores
/// the function's exceptions. `portable`: the graph can be saved. A loaded graph has no word, so then the driver thread
/// blocks until the function has returned.
void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, const std::string& name,
                  std::shared_ptr<HostFunctionErrors> thrown, bool portable);

/// Returns a host function for a loaded graph. It posts the call and blocks until the call has returned.
HostFunction waiting_call(std::shared_ptr<PythonCall> call, std::shared_ptr<HostFunctionErrors> thrown);

}  // namespace weir::python
