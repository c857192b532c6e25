// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/host_function_errors.hpp"
#include "bindings/python/src/host_thread.hpp"
#include "weir/device.hpp"
#include "weir/health.hpp"

/// How streams and graphs wait for Python functions, and get their exceptions.
namespace weir::python {

struct StreamObject;

/// Makes one stream wait for its Python functions. Each function has a ticket number. The stream writes it to a word in
/// pinned memory, the request, which the host-function thread polls. Then the stream waits until that thread writes the same
/// number to another word. Functions end in ticket order.
///
/// If the device cannot do both in one batch, or tools are attached, a driver host function is the request: on an H200 that
/// costs ten times as much, and a driver queue has room for 55 of them. If the device cannot wait for values, the driver
/// thread itself blocks, and so delays other host functions.
class HostFunctionGate : public std::enable_shared_from_this<HostFunctionGate> {
 public:
  /// The gate that all Python objects over one native stream share. It keeps `stream` alive. It lives as long as they do,
  /// and while functions are pending; that of a default stream lives for ever.
  static std::shared_ptr<HostFunctionGate> of(const StreamPtr& stream);
  /// Returns the stream's gate, or null.
  static std::shared_ptr<HostFunctionGate> find(const Stream& stream) noexcept;

  /// Identifies a native stream.
  using Key = std::pair<const Device*, const void*>;

  explicit HostFunctionGate(StreamPtr stream);
  ~HostFunctionGate();

  /// Enqueues a function, without the GIL. False if there was no room for a while: check for signals and try again.
  bool enqueue(const std::shared_ptr<PythonCall>& call, const std::string& name);
  /// If `work` is a wait for the gate's word, makes it name the function that the stream waits for.
  void explain(PendingWork& work) const;
  /// Raises the exceptions of functions of the stream, and of graphs that it launched.
  void raise();
  /// Passes what `raise` would raise to sys.unraisablehook. With the GIL held.
  void report() noexcept;
  /// The first object that enqueues a function shows the exception to the garbage collector as its own. With the GIL held.
  void claim(const StreamObject& object) noexcept {
    const StreamObject* nobody = nullptr;
    claimed_by_.compare_exchange_strong(nobody, &object);
  }
  bool is_claimed_by(const StreamObject& object) const noexcept { return claimed_by_ == &object; }
  void disclaim(const StreamObject& object) noexcept {
    const StreamObject* expected = &object;
    claimed_by_.compare_exchange_strong(expected, nullptr);
  }
  /// A Python object over the stream comes and goes.
  void add_object() noexcept { ++objects_; }
  void remove(const StreamObject& object) noexcept {
    disclaim(object);
    --objects_;
  }
  bool has_one_object() const noexcept { return objects_ == 1; }
  /// The exception that `raise` would raise, for the garbage collector; null if none. With the GIL held.
  PyObject* exception() const noexcept { return thrown_->exception(); }
  /// Called when a graph is launched whose functions store their exceptions in `thrown`: the next `raise` raises them.
  void watch(const std::shared_ptr<HostFunctionErrors>& thrown);
  /// A function has returned, or was abandoned. With the GIL held if it has `raised`.
  void record_end(bool raised) noexcept;

 private:
  void prepare();
  std::vector<std::shared_ptr<HostFunctionErrors>> take_graphs();

  const StreamPtr stream_;
  const Key key_;
  std::once_flag prepared_;  // set by the first function, with these:
  std::atomic<std::uint32_t*> word_{nullptr};
  std::shared_ptr<Requests> requests_{};  // null: driver host functions are the requests
  bool counts_on_ = false;  // whether a later ticket ends the wait for an earlier one, so that the word is reusable
  std::uint32_t issued_ = 0;
  // How many functions may be pending. An H200 has eight queues, which streams share; each has room for 1020 requests, or 55
  // host functions with their waits.
  static constexpr std::uint32_t most_requests = 256, most_host_functions = 32;
  std::atomic<std::uint32_t> begun_{0}, done_{0};
  std::mutex room_mutex_;  // for `done_`
  std::condition_variable room_;
  std::mutex mutex_;  // may be held while the stream's queue is full: never lock it with the GIL held
  const std::shared_ptr<HostFunctionErrors> thrown_ = std::make_shared<HostFunctionErrors>();
  std::atomic<const StreamObject*> claimed_by_{nullptr};
  std::atomic<int> objects_{0};
  std::mutex graphs_mutex_;
  std::vector<std::shared_ptr<HostFunctionErrors>> graphs_;
  std::size_t graphs_looked_at_ = 16;  // prune `graphs_` at this size
};

/// Adds a function to the graph that `stream` captures, without the GIL; each launch calls it. `thrown` stores its
/// exceptions. `portable`: for a graph to be saved, the driver thread blocks until the function has returned, since a loaded
/// graph has no word.
void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, const std::string& name,
                  std::shared_ptr<HostFunctionErrors> thrown, bool portable);

/// For a loaded graph: a host function that posts the call and blocks until it has returned.
HostFunction waiting_call(std::shared_ptr<PythonCall> call, std::shared_ptr<HostFunctionErrors> thrown);

}  // namespace weir::python
