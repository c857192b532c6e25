// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/enumerators.hpp"
#include "weir/weir.hpp"

/// Helpers for the cases of the conformance suite: the device under test, assertions for refused calls, latches that block a
/// stream until the host opens them, and words in memory that show the host how far a stream has come. What this header
/// includes, files of cases do not include again.
///
/// Rules that make a case right on every driver:
/// - Order is proved by a latch that the host opens, or by a graph's topology, never by sleeping.
/// - While a latch blocks a stream, a case must not free memory, load a module, or make a pageable or host-to-host copy,
///   because a driver may wait for the whole device then. So boards and buffers are declared before gates: gates are then
///   destroyed, and so opened, first.
/// - A host function that blocks may delay all other host functions of the process. If a second one must run, a wait value
///   blocks the stream instead.
namespace conformance {

using namespace std::chrono_literals;

using namespace weir;

// --- What is under test -----------------------------------------------------------------------------------------------

weir::Backend& backend();
Device& device();
/// Returns another device of the same backend, or null.
Device* second_device();

/// Sets the device under test. Called once, before the first case.
void set_device(Device& device);

// --- Refusals and skips -----------------------------------------------------------------------------------------------

/// The exception of a call, if it threw one.
struct Refusal {
  bool threw = false;
  bool from_weir = false;
  Errc errc{};
  bool has_operation = false, has_cause = false;
  std::string text = "it threw nothing";

  bool is(Errc code) const { return from_weir && errc == code; }
  bool says(std::string_view words) const { return text.find(words) != std::string::npos; }
};
Refusal refusal_of(const std::function<void()>& call);
/// The same without assertions, for other threads and host functions.
Refusal caught(const std::function<void()>& call);

/// Asserts that the statement throws a `weir::Error` with this code.
#define CHECK_REFUSED(code, ...)                                                                          \
  do {                                                                                                    \
    const ::conformance::Refusal refusal_ = ::conformance::refusal_of([&] { static_cast<void>(__VA_ARGS__); }); \
    CHECK_MESSAGE(refusal_.is(code), #__VA_ARGS__ " was to throw " #code "; " << refusal_.text);          \
  } while (false)

/// Also asserts that the error's text contains the words.
#define CHECK_REFUSED_SAYING(code, words, ...)                                                                  \
  do {                                                                                                          \
    const ::conformance::Refusal refusal_ = ::conformance::refusal_of([&] { static_cast<void>(__VA_ARGS__); }); \
    CHECK_MESSAGE(refusal_.is(code), #__VA_ARGS__ " was to throw " #code "; " << refusal_.text);                \
    CHECK_MESSAGE(refusal_.says(words), #__VA_ARGS__ " was to say \"" << (words) << "\"; " << refusal_.text);   \
  } while (false)

/// Whether the device has all the features. If it lacks one, asserts that `use`, which needs it, throws `unsupported` with
/// the reason in the device's feature table; the case then counts as a refusal. The overload with a stream, which must be
/// idle, also asserts that the refused call enqueued no work and began no capture, and that the stream still works.
bool needs(Device& device, std::initializer_list<Feature> features, const std::function<void()>& use);
bool needs(Stream& stream, std::initializer_list<Feature> features, const std::function<void()>& use);

/// Marks the running case as skipped because of missing equipment, not because of a missing feature.
void skip(std::string_view why);
/// Whether the backend has a second device. If not, skips the case.
bool needs_two_devices();
/// Whether a call that submits a host function waits for the function, which the backend must not do. Tests it once.
bool host_functions_hold_up_their_submitter();
/// Whether a host function may wait for later steps of the case. If not, skips the case. True if the device has no host
/// functions.
bool needs_host_functions_that_may_wait();
/// Whether the device has both host functions and host functions as nodes of graphs.
inline bool captures_host_functions(const Device& device = conformance::device()) {
  return device.supports(Feature::host_functions) && device.supports(Feature::host_functions_in_capture);
}
/// Records that the running case has asserted a refusal, for cases that do not use `needs`.
void count_refusal();

/// The results of the running case so far, for the summary.
struct CaseNotes {
  bool refused = false;
  std::string skipped;  ///< why, or empty
};
CaseNotes take_case_notes();

// --- Latches ----------------------------------------------------------------------------------------------------------

/// Time limit for everything that a case waits for. Only a failing case reaches it.
inline constexpr std::chrono::seconds patience = 60s;

/// A latch between host threads.
class Latch {
 public:
  void open() {
    std::lock_guard lock(mutex_);  // held until the end, because a waiting thread may destroy the latch
    open_ = true;
    opened_.notify_all();
  }
  bool is_open() const {
    std::lock_guard lock(mutex_);
    return open_;
  }
  /// Whether the latch was opened within the time limit. Returns false immediately in a host function that blocks the thread
  /// which must open the latch.
  bool wait() const {
    if (!is_open() && would_wait_for_itself()) return false;
    std::unique_lock lock(mutex_);
    return opened_.wait_for(lock, patience, [this] { return open_; });
  }

 private:
  static bool would_wait_for_itself();

  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  bool open_ = false;
};

/// A word in pinned memory, which host and device read and write. It is 0 at first and has its own cache line. It is never
/// freed, because memory operations of a failed case may still access it.
template <class T>
class Word {
 public:
  explicit Word(Device& device);
  Word() : Word(conformance::device()) {}
  T* address() const noexcept { return address_; }
  T load() const noexcept { return std::atomic_ref<T>(*address_).load(std::memory_order_acquire); }
  void store(T value) const noexcept { std::atomic_ref<T>(*address_).store(value, std::memory_order_release); }

 private:
  T* address_;
};
using Word32 = Word<std::uint32_t>;
using Word64 = Word<std::uint64_t>;

/// Blocks streams until the host opens it: by a wait value, or by a host function if the device has no wait values. The
/// destructor opens it, so it opens at the end of each case.
class Gate {
 public:
  explicit Gate(Device& device = conformance::device());
  /// A gate that holds the stream.
  explicit Gate(Stream& stream);
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Makes later work of the stream wait for `open`.
  void hold(Stream& stream);
  void open();
  /// Opens the gate, and waits for a stream or an event.
  template <class Work>
  void finish(Work& work) {
    open();
    work.synchronize();
  }

 private:
  Word32 word_;
  std::shared_ptr<Latch> latch_ = std::make_shared<Latch>();
};

/// Whether a gate can block the device's streams. If not, asserts that both ways are refused.
bool needs_gate(Stream& stream);

/// Lets the device run all work that can run, by round trips on a stream of the suite. If the order is broken, work that
/// runs too early then becomes visible. Correct implementations pass with or without this. Returns after a time limit,
/// because streams may share a queue, and then the streams that a case blocks also block the suite's stream.
void settle(Device& device = conformance::device());

/// Whether `condition` becomes true within the time limit. For effects that a driver has at some later time, such as
/// destroying objects of a graph.
bool eventually(const std::function<bool()>& condition);

/// Runs a function on another thread and waits for it. Rethrows its exception.
template <class F>
void on_another_thread(F&& function) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      function();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

/// Runs `body(t)` on `count` threads that begin together, and rethrows the first exception.
template <class F>
void in_parallel(std::size_t count, F body) {
  Latch go;
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      (void)go.wait();
      try {
        body(t);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  }
  go.open();
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
}

/// An object that shows whether its last owner has destroyed it.
struct Owned {
  std::shared_ptr<int> object = std::make_shared<int>(1);
  std::weak_ptr<int> alive = object;

  bool is_gone() const { return alive.expired(); }
  /// Whether it is destroyed within the time limit.
  bool goes() const {
    return eventually([this] { return is_gone(); });
  }
};

/// The exception that host functions of the suite throw.
struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- Seeing what streams do -------------------------------------------------------------------------------------------

using Values = std::vector<std::uint32_t>;

/// Returns as many numbers in their order.
Values numbers(std::size_t count, std::uint32_t first = 0);
/// Returns stream-ordered memory with a fill behind its allocation.
Buffer<std::uint32_t> filled(Stream& stream, std::size_t count, std::uint32_t value, MemoryPoolRef pool = nullptr);
/// Whether all elements of the memory, which the host can read, have the value.
bool all_are(const Buffer<std::uint32_t>& memory, std::uint32_t value);

/// Numbered cells in device memory. For each cell, a word in pinned memory shows its value to the host. All operations are
/// single fills or copies, which are asynchronous on every driver, and one node each in a graph.
class Board {
 public:
  explicit Board(Device& device = conformance::device(), std::size_t cells = 128);
  /// Waits for the device first, so that memory of a failed case is not freed while work uses it.
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Enqueues one fill: the cell gets `value`.
  void set(Stream& stream, std::size_t cell, std::uint32_t value);
  /// Enqueues one copy from device to device.
  void move(Stream& stream, std::size_t to, std::size_t from);
  /// Enqueues one copy from device to host, which shows the cell's value.
  void show(Stream& stream, std::size_t cell);
  void show(Stream& stream, std::initializer_list<std::size_t> cells) {
    for (const std::size_t one : cells) show(stream, one);
  }
  /// Enqueues `set` and `show`.
  void put(Stream& stream, std::size_t cell, std::uint32_t value) {
    set(stream, cell, value);
    show(stream, cell);
  }
  /// Shows the cell, waits for the stream, and returns the value.
  std::uint32_t read(Stream& stream, std::size_t cell);
  Values read(Stream& stream, std::initializer_list<std::size_t> cells);

  /// Returns the value that was shown last; 0 at first.
  std::uint32_t operator[](std::size_t cell) const;
  Values shown(std::initializer_list<std::size_t> cells) const;
  /// Resets the shown values for the next round. The device must be idle.
  void clear();

  Span<std::uint32_t> cell(std::size_t index) const { return cells_.subspan(index, 1); }
  std::size_t size() const { return cells_.size(); }

 private:
  Device& device_;
  Buffer<std::uint32_t> cells_;
  Buffer<std::uint32_t> shown_;
};

/// Returns an event whose driver event was never used, although events are pooled. For that, `kept` takes all events of the
/// pool. It must exist as long as the event has to be unused.
EventPtr fresh_event(std::vector<EventPtr>& kept, Device& device = conformance::device());

/// Asserts that the stream is held and has not shown the cell yet, and that it shows `value` once `release` was called.
void check_held_until(Stream& stream, const Board& board, std::size_t cell, std::uint32_t value,
                      const std::function<void()>& release);

std::vector<StreamPtr> create_streams(std::size_t count);

/// Whether the stream runs new work. The stream must not be capturing or blocked.
bool works(Stream& stream);
#define CHECK_WORKS(stream) CHECK(::conformance::works(stream))

// --- Fixtures ---------------------------------------------------------------------------------------------------------

/// A case of the suite: a function of its fixture. It runs if `is_possible` says so, which otherwise asserts a refusal, and
/// is followed by the fixture's `finish`.
#define CASE(Fixture, name) CONFORMANCE_CASE(DOCTEST_ANONYMOUS(ConformanceCase), Fixture, name)
#define CONFORMANCE_CASE(Case, Fixture, name) \
  struct Case : Fixture {                     \
    void run_case();                          \
  };                                          \
  TEST_CASE(name) {                           \
    Case made;                                \
    if (!made.is_possible()) return;          \
    made.run_case();                          \
    made.finish();                            \
  }                                           \
  void Case::run_case()

/// Asserts that these streams, if a case has left them open, are not part of a capture and run new work.
void check_usable(std::initializer_list<StreamPtr> streams);

/// What most cases begin with: a stream of the device under test, which must be usable behind the case.
struct OneStream {
  StreamPtr s = device().create_stream();

  static constexpr bool is_possible() { return true; }
  void finish() { check_usable({s}); }
};
/// And a board.
struct WithBoard : OneStream {
  Board board;
};
/// And another stream.
struct WithOther : WithBoard {
  const StreamPtr other = device().create_stream();

  void finish() { check_usable({s, other}); }
};
/// For cases that hold `s` by a gate.
struct WithGate : WithBoard {
  bool is_possible() { return needs_gate(*s); }
};

/// What cases of order begin with: two streams, and a gate that can hold one of them, by default `a`.
struct TwoStreams {
  StreamPtr a = device().create_stream(), b = device().create_stream();
  Board board;
  Gate gate;  // the last member, so that it opens first

  static constexpr bool is_possible() { return true; }
  void finish() {
    gate.open();
    check_usable({a, b});
  }
  /// Holds the stream, if a gate can.
  bool hold(Stream& stream) {
    if (!needs_gate(stream)) return false;
    gate.hold(stream);
    return true;
  }
  bool hold() { return hold(*a); }
  /// Asserts that what `stream` has done to the cell shows when the gate opens, and not before. Opens it.
  void check_held_back(Stream& stream, std::size_t cell, std::uint32_t value);
  /// Holds `first`, which then sets a cell, and asserts that `second`, which copies the cell behind `order`, waits for it.
  void check_order(Stream& first, Stream& second, const std::function<void()>& order = [] {});
  /// Holds `held`, and asserts that `free` does not wait for its work.
  void check_independent(Stream& held, Stream& free);
  /// Asserts that the call returns when the gate opens, and not before. Opens it.
  void check_blocks(const std::function<void()>& call);
};
/// Where `a` can be held.
struct Holdable : TwoStreams {
  bool is_possible() { return needs_gate(*a); }
};
/// Where `a` is held from the beginning.
struct Held : TwoStreams {
  bool is_possible() { return hold(); }
};

// --- Kernels ----------------------------------------------------------------------------------------------------------

/// Kernels for cases about other subjects. Each was launched once, so that later launches load nothing.
struct Kernels {
  weir::ModulePtr module;
  weir::KernelPtr add;      ///< add(unsigned* p, unsigned v): *p += v, by one thread
  weir::KernelPtr iota;     ///< iota(unsigned n, unsigned first, unsigned* p): p[i] = first + i
  weir::KernelPtr axpy;     ///< axpy(unsigned n, float a, const float* x, float* y): y[i] += a * x[i]
};
/// Returns the device's kernels. Needs the feature `runtime_compilation`, so call `needs_kernels` first.
const Kernels& kernels(Device& device = conformance::device());
/// Whether the device can compile kernels. If not, asserts that this is refused.
bool needs_kernels(Device& device = conformance::device());
/// For cases of kernels.
struct WithKernels : WithBoard {
  static bool is_possible() { return needs_kernels(); }
};

}  // namespace conformance

template <>
struct doctest::StringMaker<conformance::Values> {
  static String convert(const conformance::Values& values) {
    std::string text;
    for (const std::uint32_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
    return ("{" + text + "}").c_str();
  }
};
