// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/host_function_gate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/signal_words.hpp"
#include "weir/annotation.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

namespace weir::python {
namespace {

/// Returns the key of a stream. All per-thread default streams have the same handle, so for them the key contains the
/// object.
HostFunctionGate::Key key_of(const Stream& stream) noexcept {
  const bool is_of_thread = stream.kind() == StreamKind::per_thread_default;
  return {&stream.device(), is_of_thread ? &stream : stream.native_handle()};
}

struct Gates {
  std::mutex mutex;
  std::map<HostFunctionGate::Key, std::weak_ptr<HostFunctionGate>> all;
  std::vector<std::shared_ptr<HostFunctionGate>> lasting;  // gates of default streams, which outlive their Python objects
};
/// Never destroyed, because driver threads may run after main.
Gates& gates() {
  static Gates* const known = new Gates;
  return *known;
}
std::atomic<bool> any_functions{false};

/// One call of a Python function. Its stream waits for it through a word, or a driver thread blocks until it ends.
class HostCall final : public Task {
 public:
  HostCall(std::shared_ptr<PythonCall> call, std::shared_ptr<HostFunctionErrors> thrown, std::uint32_t* word,
           std::uint32_t ticket, std::shared_ptr<HostFunctionGate> gate)
      : call_(std::move(call)), thrown_(std::move(thrown)), gate_(std::move(gate)), word_(word), ticket_(ticket) {}

  void run() override {
    if (ended_.load(std::memory_order_acquire) != 0) return;
    PyObject* const result = (*call_)();
    leave_child(call_->callable(), result);
    const bool raised = result == nullptr;
    if (raised)
      thrown_->keep(call_->callable());
    else
      Py_DECREF(result);
    end(raised);
    if (gate_) call_->clear();  // outside a graph, this was the only call
  }
  void abandon() noexcept override { end(false); }
  /// Blocks the calling thread until the function has returned.
  void wait() const noexcept { ended_.wait(0); }

 private:
  void end(bool raised) noexcept {
    if (ended_.exchange(1) != 0) return;
    if (word_ == nullptr)
      ended_.notify_all();
    else if (gate_)
      advance_word(word_, ticket_);  // advance only: a later call may have been abandoned already
    else
      write_word(word_, ticket_);
    if (gate_) gate_->record_end(ticket_, raised);
  }

  const std::shared_ptr<PythonCall> call_;
  const std::shared_ptr<HostFunctionErrors> thrown_;
  const std::shared_ptr<HostFunctionGate> gate_;  // null for a call in a graph
  std::uint32_t* const word_;
  const std::uint32_t ticket_;
  std::atomic<std::uint32_t> ended_{0};
};

/// Returns a graph's host function, which calls `call` at each launch. `word`: from `borrow_word`; null if the driver thread
/// blocks until the function has returned.
HostFunction graph_call(std::shared_ptr<PythonCall> call, std::shared_ptr<HostFunctionErrors> thrown,
                        std::shared_ptr<std::uint32_t> word) {
  return [call = std::move(call), thrown = std::move(thrown), word = std::move(word)] {
    const auto one = std::make_shared<HostCall>(call, thrown, word.get(), 1, nullptr);
    function_thread().post(one);
    if (!word) one->wait();
  };
}

/// Whether the stream can request functions by writing a word. Not used on the CPU, where a host function is cheaper than a
/// polling thread.
bool can_request(const Device& device) {
  return device.backend().name() != "host" && device.supports(Feature::write_value_32) &&
         device.supports(Feature::wait_value_geq) && device.supports(Feature::batch_memory_operations);
}

}  // namespace

// --- Streams ------------------------------------------------------------------------------------------------------------

std::shared_ptr<HostFunctionGate> HostFunctionGate::of(const StreamPtr& stream) {
  std::shared_ptr<HostFunctionGate> made = std::make_shared<HostFunctionGate>(stream),
                                    other;  // destroyed after unlocking, because ~HostFunctionGate locks the same mutex
  if (stream->is_closed()) return made;     // another stream may have its handle by now
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<HostFunctionGate>& entry = known.all[made->key_];
  other = entry.lock();
  if (other && !other->stream_->is_closed()) return other;
  entry = made;
  if (stream->kind() == StreamKind::legacy_default) known.lasting.push_back(made);
  return made;
}

std::shared_ptr<HostFunctionGate> HostFunctionGate::find(const Stream& stream) noexcept {
  if (!any_functions) return nullptr;
  // May be the last owner, so it must be destroyed after unlocking, because ~HostFunctionGate locks.
  std::shared_ptr<HostFunctionGate> gate;
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  const auto entry = known.all.find(key_of(stream));
  if (entry != known.all.end()) gate = entry->second.lock();
  return gate && !gate->stream_->is_closed() ? gate : nullptr;
}

HostFunctionGate::HostFunctionGate(StreamPtr stream) : stream_(std::move(stream)), key_(key_of(*stream_)) {}

HostFunctionGate::~HostFunctionGate() {
  // If functions of a closed stream never ran, waits for the word are still enqueued, so it must not be reused.
  if (word_ != nullptr && counts_on_ && read_word(word_) == issued_) give_back_word(stream_->device(), false, word_);
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  const auto entry = known.all.find(key_);
  if (entry != known.all.end() && entry->second.expired()) known.all.erase(entry);
}

void HostFunctionGate::prepare() {
  any_functions = true;
  counts_on_ = stream_->device().supports(Feature::wait_value_geq);
  std::uint32_t* const word = borrow_word(stream_->device(), false);
  if (word == nullptr) return;
  issued_ = read_word(word);
  if (can_request(stream_->device())) {
    requests_ = std::make_shared<Requests>(request_word_of(word));
    write_word(requests_->word, issued_);
  }
  word_ = word;
}

bool HostFunctionGate::enqueue(const std::shared_ptr<PythonCall>& call, const std::string& name) {
  std::call_once(prepared_, [this] { prepare(); });
  // If a driver's queue is full, the driver waits for room while it holds locks that all other calls need. A thread that
  // makes such a call with the GIL held would block the very functions that make room. So the number of pending functions is
  // limited, and they never fill the queue.
  if (!is_host_thread()) {
    const std::size_t most = requests_ ? most_requests : most_host_functions;
    std::unique_lock lock(pending_mutex_);
    if (!room_.wait_for(lock, std::chrono::milliseconds(50), [&] { return pending_.size() < most; })) {
      lock.unlock();
      // The stream of a failed device will never make its requests.
      if (requests_ && !stream_->device().health().is_ok()) function_thread().abandon(*requests_);
      return false;
    }
  }
  const std::lock_guard lock(mutex_);  // the request and the wait must follow each other in the stream
  const std::uint32_t ticket = issued_ + 1;
  std::uint32_t* const word = word_;
  auto task = std::make_shared<HostCall>(call, thrown_, word, ticket, shared_from_this());
  // With tools, use a host function, so that they do not show two memory operations instead.
  const bool requests_it = requests_ && !detail::tools_look();
  {
    const std::lock_guard pending(pending_mutex_);
    pending_.emplace(ticket, name);
  }
  try {
    if (requests_it) {
      function_thread().expect(requests_, ticket, task);
      stream_->batch_memory_operations(std::array{MemoryOperation::write(requests_->word, ticket),
                                                  MemoryOperation::wait(word, ticket, WaitCondition::geq)});
    } else {
      stream_->launch_host_function(
          [task, waits = word == nullptr]() mutable {
            function_thread().post(waits ? task : std::move(task));
            if (waits) task->wait();
          },
          {.name = name});
    }
  } catch (...) {
    if (requests_it) function_thread().forget(*requests_, ticket);
    record_end(ticket, false);
    throw;
  }
  issued_ = ticket;
  if (!requests_it && word != nullptr)
    stream_->wait_value(word, ticket, counts_on_ ? WaitCondition::geq : WaitCondition::eq);
  return true;
}

void HostFunctionGate::explain(PendingWork& work) const {
  if (work.kind != PendingWork::Kind::value || work.wait.address != word_) return;
  const std::lock_guard lock(pending_mutex_);
  const auto found = pending_.find(static_cast<std::uint32_t>(work.wait.value));
  if (found == pending_.end()) return;
  work.kind = PendingWork::Kind::host_function;
  work.name = found->second;
  work.subject.clear();
  work.chain.clear();
}

void HostFunctionGate::record_end(std::uint32_t ticket, bool raised) noexcept {
  if (raised && stream_->is_closed()) report();  // no caller can wait for the exception any longer
  {
    const std::lock_guard lock(pending_mutex_);
    pending_.erase(ticket);
  }
  room_.notify_all();
}

void HostFunctionGate::report() noexcept {
  thrown_->report();
  for (const auto& graph : take_graphs()) graph->report();
}

std::vector<std::shared_ptr<HostFunctionErrors>> HostFunctionGate::take_graphs() {
  const std::lock_guard lock(graphs_mutex_);
  return std::exchange(graphs_, {});
}

void HostFunctionGate::raise() {
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

void HostFunctionGate::watch(const std::shared_ptr<HostFunctionErrors>& thrown) {
  any_functions = true;
  const std::lock_guard lock(graphs_mutex_);
  std::erase_if(graphs_, [&](const auto& graph) {  // graphs that are gone and have no exception
    return graph == thrown || (graph.use_count() == 1 && graph->is_empty());
  });
  graphs_.push_back(thrown);
}

// --- Graphs -------------------------------------------------------------------------------------------------------------

void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, const std::string& name,
                  std::shared_ptr<HostFunctionErrors> thrown, bool portable) {
  std::shared_ptr<std::uint32_t> word;
  if (std::uint32_t* const borrowed = portable ? nullptr : borrow_word(stream.device(), true))
    word = {borrowed, [&device = stream.device()](std::uint32_t* own) { give_back_word(device, true, own); }};
  stream.launch_host_function(graph_call(std::move(call), std::move(thrown), word), {.name = name});
  if (!word) return;
  stream.wait_value(word.get(), 1, WaitCondition::eq);
  stream.write_value(word.get(), 0);  // reset for the next launch
}

HostFunction waiting_call(std::shared_ptr<PythonCall> call, std::shared_ptr<HostFunctionErrors> thrown) {
  return graph_call(std::move(call), std::move(thrown), nullptr);
}

}  // namespace weir::python
