// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/gate.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/words.hpp"
#include "weir/annotation.hpp"
#include "weir/backend.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

namespace weir::python {
namespace {

/// All per-thread default streams have the same handle.
Gate::Key key_of(const Stream& stream) noexcept {
  const bool is_of_thread = stream.kind() == StreamKind::per_thread_default;
  return {&stream.device(), is_of_thread ? &stream : stream.native_handle()};
}

struct Gates {
  std::mutex mutex;
  std::map<Gate::Key, std::weak_ptr<Gate>> all;
  std::set<std::shared_ptr<Gate>> held;
};
/// Never destroyed: driver threads may outlive main.
Gates& gates() {
  static Gates* const known = new Gates;
  return *known;
}
std::atomic<bool> any_gates{false};

/// One call of a function, and what waits for it: a word or a driver thread.
class HostCall final : public Task {
 public:
  HostCall(std::shared_ptr<PythonCall> call, std::string name, std::shared_ptr<Thrown> thrown, std::uint32_t* word,
           std::uint32_t ticket, std::shared_ptr<Gate> gate)
      : call_(std::move(call)),
        name_(std::move(name)),
        thrown_(std::move(thrown)),
        gate_(std::move(gate)),
        word_(word),
        ticket_(ticket) {}

  void run() override {
    if (ended_.load(std::memory_order_acquire) != 0) return;
    PyObject* const result = (*call_)();
    leave_child(result);
    if (result != nullptr) {
      Py_DECREF(result);
    } else {
      thrown_->keep(call_->callable());
      if (gate_) gate_->hold();
    }
    end();
    if (gate_) call_->clear();  // it is the only call
  }
  void abandon(bool stuck) noexcept override {
    if (stuck && ended_ == 0) {
      thrown_->keep_stuck();
      if (gate_) gate_->hold();
    }
    end();
  }
  const std::string* name_of(const std::uint32_t* word, std::uint32_t ticket) const noexcept override {
    return gate_ && word == word_ && ticket == ticket_ ? &name_ : nullptr;
  }
  /// Blocks the calling thread until the function has returned.
  void wait() const noexcept { ended_.wait(0); }

 private:
  void end() noexcept {
    if (ended_.exchange(1) != 0) return;
    if (word_ == nullptr)
      ended_.notify_all();
    else if (gate_)
      advance_word(word_, ticket_);  // a later one may have been abandoned already
    else
      write_word(word_, ticket_);
    if (gate_) gate_->note_end();
  }

  const std::shared_ptr<PythonCall> call_;
  const std::string name_;
  const std::shared_ptr<Thrown> thrown_;
  const std::shared_ptr<Gate> gate_;  // null in a graph
  std::uint32_t* const word_;
  const std::uint32_t ticket_;
  std::atomic<std::uint32_t> ended_{0};
};

/// What a graph's host function runs at each launch.
class GraphNote {
 public:
  /// `word`: from `borrow_word`; null if the driver thread waits for the function.
  GraphNote(Device* device, std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown, std::uint32_t* word)
      : device_(device), call_(std::move(call)), thrown_(std::move(thrown)), word_(word) {}
  GraphNote(GraphNote&& other) noexcept
      : device_(other.device_),
        call_(std::move(other.call_)),
        thrown_(std::move(other.thrown_)),
        word_(std::exchange(other.word_, nullptr)) {}
  GraphNote& operator=(GraphNote&&) = delete;
  ~GraphNote() {
    if (word_ != nullptr) give_back_word(*device_, true, word_);
  }

  void operator()() const {
    const auto call = std::make_shared<HostCall>(call_, "", thrown_, word_, 1, nullptr);
    post(call);
    if (word_ == nullptr) call->wait();
  }

 private:
  Device* device_;
  std::shared_ptr<PythonCall> call_;
  std::shared_ptr<Thrown> thrown_;
  std::uint32_t* word_;
};

/// Reports the exceptions of a stream's functions once nobody can wait for that stream any more.
class Report final : public Task {
 public:
  explicit Report(std::shared_ptr<Gate> gate) noexcept : gate_(std::move(gate)) {}
  void run() override { gate_->report(); }
  void abandon(bool) noexcept override { gate_->hold(); }  // for `report_held`

 private:
  const std::shared_ptr<Gate> gate_;
};

bool any_held() noexcept {
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  return !known.held.empty();
}

/// Makes the host-function thread report for gates whose streams are closed or no longer owned by the program.
void let_go_of_held() {
  std::vector<std::shared_ptr<Gate>> orphans;
  {
    Gates& known = gates();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.held, [&](const std::shared_ptr<Gate>& gate) {
      if (!gate->is_orphan(0)) return false;
      orphans.push_back(gate);
      return true;
    });
  }
  for (auto& gate : orphans) post(std::make_shared<Report>(std::move(gate)));
}

/// The gates with functions that their streams have not requested yet. One thread polls the request words; it never calls
/// the driver, which may wait for a function. Another looks for failed devices, whose streams never make their requests, and
/// for gates that are held in vain.
class Requests {
 public:
  Requests() {
    const support::SignalsBlocked blocked;
    std::thread([this] { poll(); }).detach();
    std::thread([this] { check(); }).detach();
  }

  void add(std::shared_ptr<Gate> gate) {
    const std::lock_guard lock(mutex_);
    gates_.push_back(std::move(gate));
    since_ = Clock::now();
    wake_.notify_all();
  }

  /// A gate is held now. The caller may hold locks that `poll` takes, so this takes none: a missed wake-up only costs time.
  void note_held() noexcept { wake_.notify_all(); }

  void abandon_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& gate : gates_) gate->abandon_calls();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds spin_time{50}, shortest_sleep{10}, longest_sleep{1000};
  static constexpr std::size_t most_kept = 16;  // gates without calls, in case the next come soon

  void poll() {
    pthread_setname_np(pthread_self(), "weir requests");
    prctl(PR_SET_TIMERSLACK, 1000UL);  // else each sleep takes 50 us longer
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !gates_.empty(); });
      bool any = false;
      for (const auto& gate : gates_) any |= gate->post_requested();
      const auto now = Clock::now();
      if (any) since_ = now;
      const bool spins = now - since_ < spin_time;
      if (!spins || gates_.size() > most_kept) {
        std::erase_if(gates_, [this](std::shared_ptr<Gate>& gate) {
          if (!gate->rest()) return false;
          unused_.push_back(std::move(gate));
          return true;
        });
        if (!unused_.empty()) wake_.notify_all();
      }
      if (spins) {
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
      } else if (!gates_.empty()) {
        // Sleeps for a small part of the time waited so far, so that a request is noticed only a little late.
        wake_.wait_for(lock, std::clamp<Clock::duration>((now - since_) / 16, shortest_sleep, longest_sleep));
      }
    }
  }

  void check() {
    pthread_setname_np(pthread_self(), "weir requests 2");
    auto next = Clock::now();
    for (;;) {
      std::vector<std::shared_ptr<Gate>> dropped, looked_at;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !gates_.empty() || !unused_.empty() || any_held(); });
        wake_.wait_until(lock, next, [this] { return !unused_.empty(); });
        dropped.swap(unused_);
        if (Clock::now() >= next) looked_at = gates_;
      }
      dropped.clear();  // a gate's destructor may call the driver
      if (Clock::now() < next) continue;
      for (const auto& gate : looked_at) gate->check();
      looked_at.clear();
      let_go_of_held();
      next = Clock::now() + std::chrono::milliseconds(100);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Gate>> gates_;
  std::vector<std::shared_ptr<Gate>> unused_;  // to be destroyed by the thread that may call the driver
  Clock::time_point since_{};                  // of the newest request or gate
};

std::atomic<bool> any_requests{false};
/// Never destroyed: its threads keep running.
Requests& requests() {
  static Requests* const all = new Requests;
  return *all;
}

/// On the CPU a host function costs less than a polling thread.
bool can_request(const Device& device) {
  return device.backend().name() != "host" && device.supports(Feature::write_value_32) &&
         device.supports(Feature::wait_value_geq) && device.supports(Feature::batch_memory_operations);
}

}  // namespace

// --- Streams ------------------------------------------------------------------------------------------------------------

std::shared_ptr<Gate> Gate::of(const StreamPtr& stream) {
  if (auto gate = find(*stream)) return gate;
  auto made = std::make_shared<Gate>(stream);  // may allocate memory: not while locked
  std::shared_ptr<Gate> other;                 // may be the last owner: destroyed after unlocking, as ~Gate locks
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<Gate>& entry = known.all[key_of(*stream)];
  other = entry.lock();
  if (other && !other->stream_->is_closed()) return other;
  entry = made;
  any_gates = true;
  return made;
}

std::shared_ptr<Gate> Gate::find(const Stream& stream) noexcept {
  if (!any_gates) return nullptr;
  std::shared_ptr<Gate> gate;  // may be the last owner: destroyed after unlocking, as ~Gate locks
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  const auto entry = known.all.find(key_of(stream));
  if (entry != known.all.end()) gate = entry->second.lock();
  return gate && !gate->stream_->is_closed() ? gate : nullptr;
}

Gate::Gate(StreamPtr stream)
    : stream_(std::move(stream)),
      key_(key_of(*stream_)),
      word_(borrow_word(stream_->device(), false)),
      counts_on_(stream_->device().supports(Feature::wait_value_geq)) {
  requests();  // starts the threads
  any_requests = true;
  if (word_ == nullptr) return;
  issued_ = read_word(word_);
  if (!can_request(stream_->device())) return;
  request_ = request_word_of(word_);
  write_word(request_, issued_);
  posted_ = issued_;
}

Gate::~Gate() {
  // Functions of a closed stream that never ran leave waits behind: the word must not be reused.
  if (word_ != nullptr && counts_on_ && read_word(word_) == issued_) give_back_word(stream_->device(), false, word_);
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  const auto entry = known.all.find(key_);
  if (entry != known.all.end() && entry->second.expired()) known.all.erase(entry);
}

bool Gate::enqueue(const std::shared_ptr<PythonCall>& call, const std::string& name) {
  // A driver whose queue is full waits for room, and meanwhile holds locks that all other calls need. A thread that makes
  // such a call with the GIL held would block the very functions that make room. So functions never fill the queue.
  if (!is_host_thread()) {
    const std::uint32_t most = request_ != nullptr ? most_requests : most_host_functions;
    std::unique_lock lock(room_mutex_);
    if (!room_.wait_for(lock, std::chrono::milliseconds(50), [&] { return begun_ - done_ < most; })) {
      if (!stream_->is_closed()) return false;
      throw Error(Errc::stream_closed, "Stream.launch_host_func", stream_->describe(),
                  "the stream was closed while the call waited for room");
    }
  }
  const std::lock_guard lock(mutex_);  // the request and the wait must be adjacent
  const std::uint32_t ticket = issued_ + 1;
  auto task = std::make_shared<HostCall>(call, name, thrown_, word_, ticket, shared_from_this());
  // Tools should show one host function, not two memory operations.
  const bool requests_it = request_ != nullptr && !detail::tools_look();
  ++begun_;
  try {
    if (requests_it) {
      request(ticket, task);
    } else if (word_ != nullptr) {
      stream_->launch_host_function([task = task]() mutable { post(std::move(task)); }, {.name = name});
    } else {
      stream_->launch_host_function(
          [task] {
            post(task);
            task->wait();
          },
          {.name = name});
    }
  } catch (...) {
    --begun_;
    throw;
  }
  if (word_ == nullptr) return true;
  issued_ = ticket;
  if (!requests_it) stream_->wait_value(word_, ticket, counts_on_ ? WaitCondition::geq : WaitCondition::eq);
  return true;
}

void Gate::explain(PendingWork& work) const {
  if (work.kind != PendingWork::Kind::value || work.wait.address != word_) return;
  auto name = name_of_task(word_, static_cast<std::uint32_t>(work.wait.value));
  if (!name) return;
  work.kind = PendingWork::Kind::host_function;
  work.name = *std::move(name);
  work.subject.clear();
  work.chain.clear();
}

void Gate::request(std::uint32_t ticket, std::shared_ptr<Task> task) {
  bool is_first = false;
  {
    const std::lock_guard lock(calls_mutex_);
    calls_.push_back({ticket, std::move(task)});
    is_first = !std::exchange(is_polled_, true);
  }
  if (is_first) requests().add(shared_from_this());
  try {
    stream_->batch_memory_operations(
        std::array{MemoryOperation::write(request_, ticket), MemoryOperation::wait(word_, ticket, WaitCondition::geq)});
  } catch (...) {
    const std::lock_guard lock(calls_mutex_);
    if (calls_.empty())
      ++begun_;  // it was abandoned meanwhile, and counts as done
    else
      calls_.pop_back();
    throw;
  }
}

bool Gate::post_requested() noexcept {
  if (is_finalizing()) return abandon_calls(), true;
  const std::uint32_t requested = read_word(request_);
  if (std::exchange(posted_, requested) == requested) return false;
  const std::lock_guard lock(calls_mutex_);
  bool any = false;
  for (; !calls_.empty() && !is_before(requested, calls_.front().ticket); calls_.pop_front(), any = true)
    post(std::move(calls_.front().task), true);
  return any;
}

void Gate::abandon_calls() noexcept {
  const std::lock_guard lock(calls_mutex_);
  for (const Call& call : calls_) call.task->abandon(false);
  calls_.clear();
}

bool Gate::rest() noexcept {
  const std::lock_guard lock(calls_mutex_);
  if (calls_.empty()) is_polled_ = false;
  return calls_.empty();
}

void Gate::check() noexcept try {
  {
    const std::lock_guard lock(calls_mutex_);
    if (calls_.empty() || std::exchange(checked_, calls_.front().ticket) != calls_.front().ticket) return;
  }
  if (!stream_->device().health().is_ok()) abandon_calls();
} catch (const std::exception&) {
  // Out of memory: the next check tries again.
}

void abandon_requests() noexcept {
  if (any_requests) requests().abandon_all();
}

void report_held() noexcept {
  std::set<std::shared_ptr<Gate>> held;
  {
    Gates& known = gates();
    const std::lock_guard lock(known.mutex);
    held = known.held;
  }
  for (const auto& gate : held) gate->report();
  without_gil([&] { held.clear(); });  // a gate's destructor may call the driver
}

void Gate::hold() {
  {
    Gates& known = gates();
    const std::lock_guard lock(known.mutex);
    known.held.insert(shared_from_this());
  }
  requests().note_held();
}

bool Gate::is_orphan(std::uint32_t objects) const noexcept {
  if (stream_->is_closed()) return true;
  const bool is_ours = stream_->kind() == StreamKind::owned || stream_->kind() == StreamKind::adopted;
  return is_ours && stream_->use_count() == 1 + objects;  // others can be wrapped again by their handles
}

void Gate::disclaim(const StreamObject& object, bool unreachable) noexcept {
  const StreamObject* expected = &object;
  if (!claimed_by_.compare_exchange_strong(expected, nullptr)) return;
  if (unreachable && is_orphan(1)) report();
}

void Gate::report() noexcept {
  thrown_->report();
  for (const auto& graph : take_graphs()) graph->report();
}

std::vector<std::shared_ptr<Thrown>> Gate::take_graphs() {
  const std::lock_guard lock(graphs_mutex_);
  return std::exchange(graphs_, {});
}

void Gate::raise() {
  {
    Gates& known = gates();
    const std::lock_guard lock(known.mutex);
    known.held.erase(shared_from_this());
  }
  auto all = take_graphs();
  all.insert(all.begin(), thrown_);
  for (auto thrown = all.begin(); thrown != all.end(); ++thrown) {
    try {
      (*thrown)->raise(*stream_);
    } catch (...) {
      std::for_each(thrown + 1, all.end(), [](const auto& other) { other->report(); });
      throw;
    }
  }
}

void Gate::watch(const std::shared_ptr<Thrown>& thrown) {
  const std::lock_guard lock(graphs_mutex_);
  if (std::find(graphs_.begin(), graphs_.end(), thrown) != graphs_.end()) return;
  if (graphs_.size() >= graphs_looked_at_) {  // forget graphs that are gone and have nothing to report
    std::erase_if(graphs_, [](const auto& graph) { return graph.use_count() == 1 && graph->is_empty(); });
    graphs_looked_at_ = 2 * graphs_.size() + 16;
  }
  graphs_.push_back(thrown);
  hold();
}

// --- Graphs -------------------------------------------------------------------------------------------------------------

void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, const std::string& name, std::shared_ptr<Thrown> thrown,
                  bool portable) {
  std::uint32_t* const word = portable ? nullptr : borrow_word(stream.device(), true);
  GraphNote note(&stream.device(), std::move(call), std::move(thrown), word);
  stream.launch_host_function(std::move(note), {.name = name});
  if (word == nullptr) return;
  stream.wait_value(word, 1, WaitCondition::eq);
  stream.write_value(word, 0);  // for the next launch
}

HostFunction waiting_call(std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown) {
  return GraphNote(nullptr, std::move(call), std::move(thrown), nullptr);
}

}  // namespace weir::python
