// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

/// What the cases of the conformance suite share: the device under test, the assertion of refusals, latches that hold a
/// stream until the host lets it go, and words by which the host sees what a stream has done.
///
/// Rules that make a case right on every driver:
/// - Ordering is proved by a latch that the host opens, or by a graph's topology, never by sleeping.
/// - While a stream is held, nothing is freed, no module is loaded and no pageable or host-to-host copy is made: a driver
/// may
///   wait for the whole device to do so. Boards and buffers are therefore declared before gates, so that gates open first.
/// - A host function that blocks may hold up all other host functions of the process. Where a second one must run, the
/// stream
///   is held by a wait value instead.
namespace conformance {

using namespace std::chrono_literals;

using weir::Buffer;
using weir::CaptureMode;
using weir::CaptureStatus;
using weir::Device;
using weir::Errc;
using weir::EventPtr;
using weir::Feature;
using weir::GraphExecPtr;
using weir::GraphPtr;
using weir::MemoryKind;
using weir::MemoryOperation;
using weir::NodeKind;
using weir::Extent;
using weir::Ownership;
using weir::PitchedSpan;
using weir::Position;
using weir::pitched;
using weir::Span;
using weir::Stream;
using weir::StreamKind;
using weir::StreamOptions;
using weir::StreamPtr;
using weir::StreamRef;
using weir::Topology;
using weir::WaitCondition;

// --- What is under test -----------------------------------------------------------------------------------------------

weir::Backend& backend();
Device& device();
/// Another device of the same backend; null where there is none.
Device* second_device();

/// Chooses what is under test. Called once, before the first case.
void set_device(Device& device);

// --- Refusals and skips -----------------------------------------------------------------------------------------------

/// What a call threw, if it threw.
struct Refusal {
  bool threw = false;
  bool from_weir = false;
  Errc errc{};
  std::string text = "it threw nothing";

  bool is(Errc code) const { return from_weir && errc == code; }
  bool says(std::string_view words) const { return text.find(words) != std::string::npos; }
};
Refusal refusal_of(const std::function<void()>& call);

/// Asserts that the statement throws a `weir::Error` of that code, which names an operation and a cause.
#define CHECK_REFUSED(code, ...)                                                                          \
  do {                                                                                                    \
    const ::conformance::Refusal refusal_ = ::conformance::refusal_of([&] { static_cast<void>(__VA_ARGS__); }); \
    CHECK_MESSAGE(refusal_.is(code), #__VA_ARGS__ " was to throw " #code "; " << refusal_.text);          \
  } while (false)

/// Whether the device has all the features. Where it lacks one, `use`, which needs it, must throw `unsupported` with the
/// reason in the device's feature table, and the case counts as a refusal. The form with a stream, which must be idle, also
/// asserts that the refused call enqueued nothing and began no capture, and that the stream still works.
bool needs(Device& device, std::initializer_list<Feature> features, const std::function<void()>& use);
bool needs(Stream& stream, std::initializer_list<Feature> features, const std::function<void()>& use);

/// Marks the running case as skipped, for a lack of equipment rather than of a feature.
void skip(std::string_view why);
/// Whether the backend has a second device; else skips the case.
bool needs_two_devices();
/// Whether the backend breaks the promise that the call which submits a host function does not wait for it. Asks once.
bool host_functions_hold_up_their_submitter();
/// Whether a host function may wait for what the case does later; else skips the case. Where the device has none, true.
bool needs_host_functions_that_may_wait();
/// Whether the device has both host functions and host functions as nodes of graphs.
inline bool captures_host_functions(const Device& device = conformance::device()) {
  return device.supports(Feature::host_functions) && device.supports(Feature::host_functions_in_capture);
}
/// Notes that the running case has asserted a refusal; for cases that do so without `needs`.
void count_refusal();

/// How the running case went so far, for the summary.
struct CaseNotes {
  bool refused = false;
  std::string skipped;  ///< why, or empty
};
CaseNotes take_case_notes();

// --- Latches ----------------------------------------------------------------------------------------------------------

/// How long a case waits for what must happen. Only a failing case ever waits so long.
inline constexpr std::chrono::seconds patience = 60s;

/// A latch between host threads.
class Latch {
 public:
  void open() {
    std::lock_guard lock(mutex_);  // until the end: who has waited may destroy the latch
    open_ = true;
    opened_.notify_all();
  }
  bool is_open() const {
    std::lock_guard lock(mutex_);
    return open_;
  }
  /// Whether it was opened within the case's patience. Within a host function that holds up the thread which
  /// has yet to open it, false at once.
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

/// A word in pinned memory that host and device read and write, 0 at first, on a cache line of its own. It is never freed,
/// so that memory operations of a case that failed may still look at it.
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

/// Holds streams until the host opens it: by a wait value, or by a host function where the device has none. Opens itself
/// when the case ends, however it ends.
class Gate {
 public:
  explicit Gate(Device& device = conformance::device());
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// From here on the stream's work waits for `open`.
  void hold(Stream& stream);
  void open();

 private:
  Word32 word_;
  std::shared_ptr<Latch> latch_ = std::make_shared<Latch>();
};

/// Whether a gate can hold the device's streams. Where it cannot, both ways are asserted to be refused.
bool needs_gate(Stream& stream);

/// Lets the device run what is ready, by round trips on a stream of the suite's own: work that a broken ordering has let go
/// too early gets its chance to show. A right implementation passes whatever this does. Returns after a while in any case:
/// devices may have streams share a queue, and what a case holds then holds up the suite's stream, too.
void settle(Device& device = conformance::device());

/// Whether `condition` comes true within the case's patience; for what a driver does in its own time, such as destroying
/// what a graph owned.
bool eventually(const std::function<bool()>& condition);

/// Runs a function on a thread of its own and waits for it; hands on what it throws.
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

/// What host functions of the suite throw.
struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- Seeing what streams do -------------------------------------------------------------------------------------------

/// Numbered cells in device memory, and for each a word in pinned memory that shows it to the host. All operations are
/// single fills or copies, which are asynchronous on every driver and one node each in a graph.
class Board {
 public:
  explicit Board(Device& device = conformance::device(), std::size_t cells = 64);
  /// Waits for the device first, so that a case that failed half-way frees nothing that work still uses.
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// One fill: the cell becomes `value`.
  void set(Stream& stream, std::size_t cell, std::uint32_t value);
  /// One copy from device to device.
  void move(Stream& stream, std::size_t to, std::size_t from);
  /// One copy from device to host: the host sees the cell's value.
  void show(Stream& stream, std::size_t cell);
  /// `set` and `show`.
  void put(Stream& stream, std::size_t cell, std::uint32_t value) {
    set(stream, cell, value);
    show(stream, cell);
  }

  /// What was shown of the cell last; 0 at first.
  std::uint32_t operator[](std::size_t cell) const;
  /// Forgets what was shown, for the next round. The device must be idle.
  void clear();

  Span<std::uint32_t> cell(std::size_t index) const { return cells_.subspan(index, 1); }
  std::size_t size() const { return cells_.size(); }

 private:
  Device& device_;
  Buffer<std::uint32_t> cells_;
  Buffer<std::uint32_t> shown_;
};

/// An event that nobody has used before, by the driver either, although events are pooled: `kept` takes so many that the
/// pool has none left, and must live as long as the event is to be fresh.
EventPtr fresh_event(std::vector<EventPtr>& kept, Device& device = conformance::device());

/// Whether the stream carries out new work. It must not be capturing or held.
bool works(Stream& stream);
#define CHECK_WORKS(stream) CHECK(::conformance::works(stream))

// --- Kernels ----------------------------------------------------------------------------------------------------------

/// Kernels for cases about other things; each was launched once, so that no launch has to load anything.
struct Kernels {
  weir::ModulePtr module;
  weir::KernelPtr add;      ///< add(unsigned* p, unsigned v): *p += v, by one thread
  weir::KernelPtr iota;     ///< iota(unsigned n, unsigned first, unsigned* p): p[i] = first + i
  weir::KernelPtr axpy;     ///< axpy(unsigned n, float a, const float* x, float* y): y[i] += a * x[i]
};
/// The device's kernels. Feature `runtime_compilation`: `needs_kernels` first.
const Kernels& kernels(Device& device = conformance::device());
/// Whether the device compiles kernels; asserts the refusal where not.
bool needs_kernels(Device& device = conformance::device());

}  // namespace conformance

// How doctest prints values of Weir's.
namespace weir {
doctest::String toString(Errc);
doctest::String toString(CaptureStatus);
doctest::String toString(NodeKind);
doctest::String toString(MemoryKind);
doctest::String toString(Support);
}  // namespace weir
