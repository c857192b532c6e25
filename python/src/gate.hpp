// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "python/src/host_thread.hpp"
#include "python/src/thrown.hpp"
#include "weir/device.hpp"
#include "weir/health.hpp"

/// How streams and graphs wait for functions in Python, and learn what these raised.
namespace weir::python {

struct StreamObject;

/// What waits for the functions of one stream: the stream writes the number of the function's ticket to a word in pinned
/// memory, its request, which a thread reads again and again. Then it waits until another word has that number, which the
/// thread of functions writes. Functions end in the order of their tickets.
///
/// Where the device cannot do both at once, and where tools look, a host function of the driver's is the request: on an H200
/// that costs ten times as much, and a driver's queue has room for 55 of them.
/// Where the device cannot wait for values, the driver's thread itself waits, and other host functions behind it.
class Gate : public std::enable_shared_from_this<Gate> {
 public:
  /// That of the native stream, made at the first call. It owns `stream`, lives while functions are under way or what one
  /// raised is not told, and as long as its owners.
  static std::shared_ptr<Gate> of(const StreamPtr& stream);
  /// Null if the stream has none.
  static std::shared_ptr<Gate> find(const Stream& stream) noexcept;

  /// A native stream.
  using Key = std::pair<const Device*, const void*>;

  explicit Gate(StreamPtr stream);
  ~Gate();

  /// Enqueues a function, without the lock. False if there was no room for a while; then look for signals, and ask again.
  bool enqueue(const std::shared_ptr<PythonCall>& call, const std::string& name);
  /// A wait for the word of the gate is one for a function: says so, and for which.
  void explain(PendingWork& work) const;
  /// Raises what functions of the stream, and of graphs that it launched, raised.
  void raise();
  /// Keeps it alive until `raise`, or until nobody can call that any more: see `is_orphan`.
  void hold();
  /// Whether nobody can wait for the stream any more but through `objects` of Python's.
  bool is_orphan(std::uint32_t objects) const noexcept;
  /// Tells what `raise` would raise. With the lock.
  void report() noexcept;

  // A traceback often owns the stream: by a method of the object that made it. So that Python's collector of cycles finds
  // both, the first object that enqueues a function owns the exception in its eyes. All with the lock.
  void claim(const StreamObject& object) noexcept {
    const StreamObject* nobody = nullptr;
    claimed_by_.compare_exchange_strong(nobody, &object);
  }
  /// What the object owns; null if nothing.
  PyObject* exception_of(const StreamObject& object) const noexcept {
    return claimed_by_ == &object ? thrown_->exception() : nullptr;
  }
  /// The object ends. If `unreachable`, nothing but its exception owns it, which is reported if nobody else can wait for the
  /// stream. Else the gate alone owns the exception from now on.
  void disclaim(const StreamObject& object, bool unreachable) noexcept;
  /// A function has returned, or was given up.
  void note_end() noexcept {
    {
      const std::lock_guard lock(room_mutex_);
      ++done_;
    }
    room_.notify_all();
  }
  /// Posts the calls that the stream has asked for. False if there were none. Does not call the driver, nor do the next two.
  bool post_requested() noexcept;
  /// Gives up the calls that the stream has not asked for yet.
  void abandon_calls() noexcept;
  /// True if there are no such calls, and nobody need look until the next.
  bool rest() noexcept;
  /// Gives them up if the device has failed. Called from time to time.
  void check() noexcept;
  /// A graph was launched whose functions keep there what they raise, which the next `raise` raises.
  void watch(const std::shared_ptr<Thrown>& thrown);

 private:
  struct Call {
    std::uint32_t ticket;
    std::shared_ptr<Task> task;
  };
  std::vector<std::shared_ptr<Thrown>> take_graphs();
  /// Enqueues the request and the wait. Within `mutex_`.
  void request(std::uint32_t ticket, std::shared_ptr<Task> task);

  const StreamPtr stream_;
  const Key key_;
  std::uint32_t* word_;
  std::uint32_t* request_ = nullptr;  // null: host functions of the driver's are the requests
  bool counts_on_;  // whether a later ticket ends the wait for an earlier one, so that the word can be used again
  std::uint32_t issued_ = 0;
  // How many may wait. An H200 has eight queues, which streams share; each has room for 1020 requests, or 55 host functions
  // with their waits.
  static constexpr std::uint32_t most_requests = 256, most_host_functions = 32;
  std::atomic<std::uint32_t> begun_{0}, done_{0};
  std::mutex room_mutex_;  // of `done_`
  std::condition_variable room_;
  std::mutex mutex_;           // may be held while the stream's queue is full: never wait for it with the interpreter's lock
  std::mutex calls_mutex_;     // never held while a driver is called
  std::deque<Call> calls_;     // those that the stream has not asked for yet
  bool is_polled_ = false;     // whether the thread looks at the request
  std::uint32_t checked_ = 0;  // the first of `calls_` at the last check
  const std::shared_ptr<Thrown> thrown_ = std::make_shared<Thrown>();
  std::atomic<const StreamObject*> claimed_by_{nullptr};
  std::mutex graphs_mutex_;
  std::vector<std::shared_ptr<Thrown>> graphs_;
  std::size_t graphs_looked_at_ = 16;  // how many there may be before the next look at them
};

/// Called when the interpreter ends: gives up all calls that no stream has asked for yet.
void abandon_requests() noexcept;
/// Called when the interpreter ends, with the lock: tells what no `raise` will raise any more.
void report_held() noexcept;

/// Adds a function to the graph that `stream` captures, without the lock; each launch calls it. `thrown`: where what it
/// raises is kept. `portable`: in a graph that is to be saved the driver's thread waits for the function, as there is no
/// word where it is loaded.
void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, const std::string& name, std::shared_ptr<Thrown> thrown,
                  bool portable);

/// For a graph that is loaded: a host function that posts the call, and waits until it has returned.
HostFunction waiting_call(std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown);

}  // namespace weir::python
