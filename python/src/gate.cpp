// SPDX-License-Identifier: Apache-2.0
#include "python/src/gate.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "python/src/words.hpp"
#include "weir/stream.hpp"

namespace weir::python {
namespace {

/// A per-thread default stream has the handle of all others.
Gate::Key key_of(const Stream& stream) noexcept {
  const bool is_of_thread = stream.kind() == StreamKind::per_thread_default;
  return {&stream.device(), is_of_thread ? &stream : stream.native_handle()};
}

struct Gates {
  std::mutex mutex;
  std::map<Gate::Key, std::weak_ptr<Gate>> all;
  std::set<std::shared_ptr<Gate>> held;
};
/// Never destroyed: threads of drivers may outlive main.
Gates& gates() {
  static Gates* const known = new Gates;
  return *known;
}
std::atomic<bool> any_gates{false};

/// One call of a function, and what waits for it: a word, or the driver's thread.
class HostCall final : public Task {
 public:
  HostCall(std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown, std::uint32_t* word, std::uint32_t ticket,
           std::shared_ptr<Gate> gate)
      : call_(std::move(call)), thrown_(std::move(thrown)), gate_(std::move(gate)), word_(word), ticket_(ticket) {}

  void run() override {
    if (ended_.load(std::memory_order_acquire) != 0) return;
    PyObject* const result = (*call_)();
    if (result != nullptr) {
      Py_DECREF(result);
    } else {
      thrown_->keep(call_->callable());
      if (gate_) gate_->hold();
    }
    end();
    if (gate_) call_->clear();  // no other call comes
  }
  void abandon(bool stuck) noexcept override {
    if (stuck && ended_ == 0) {
      thrown_->keep_stuck();
      if (gate_) gate_->hold();
    }
    end();
  }
  /// Blocks the calling thread until the function has returned.
  void wait() const noexcept { ended_.wait(0); }

 private:
  void end() noexcept {
    if (ended_.exchange(1) != 0) return;
    if (word_ != nullptr)
      write_word(word_, ticket_);
    else
      ended_.notify_all();
    if (gate_) gate_->note_end();
  }

  const std::shared_ptr<PythonCall> call_;
  const std::shared_ptr<Thrown> thrown_;
  const std::shared_ptr<Gate> gate_;  // null in a graph
  std::uint32_t* const word_;
  const std::uint32_t ticket_;
  std::atomic<std::uint32_t> ended_{0};
};

/// What a graph's host function does at each launch.
class GraphNote {
 public:
  GraphNote(Device& device, std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown)
      : device_(&device), call_(std::move(call)), thrown_(std::move(thrown)), word_(borrow_word(device, true)) {}
  GraphNote(GraphNote&& other) noexcept
      : device_(other.device_),
        call_(std::move(other.call_)),
        thrown_(std::move(other.thrown_)),
        word_(std::exchange(other.word_, nullptr)) {}
  GraphNote& operator=(GraphNote&&) = delete;
  ~GraphNote() {
    if (word_ != nullptr) give_back_word(*device_, true, word_);
  }

  std::uint32_t* word() const noexcept { return word_; }
  void operator()() const {
    const auto call = std::make_shared<HostCall>(call_, thrown_, word_, 1, nullptr);
    post(call);
    if (word_ == nullptr) call->wait();
  }

 private:
  Device* device_;
  std::shared_ptr<PythonCall> call_;
  std::shared_ptr<Thrown> thrown_;
  std::uint32_t* word_;
};

}  // namespace

// --- What functions raised ----------------------------------------------------------------------------------------------

void Thrown::keep(PyObject* callable) {
  if (exception_ != nullptr) return PyErr_WriteUnraisable(callable);
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  exception_ = value;
}

void Thrown::raise(const Stream& stream) {
  nb::object exception = nb::steal(exception_.exchange(nullptr));
  if (exception.is_valid()) {
    exception.attr("add_note")(("raised by a host function of " + stream.describe()).c_str());
  } else if (stuck_.exchange(false)) {
    exception = nb::module_::import_("weir.errors")
                    .attr("HostFunctionTimeoutError")(("Stream.launch_host_func on " + stream.describe() +
                                                       ": the stream went on without a host function, or before it had "
                                                       "returned: no thread could get the interpreter's lock, which "
                                                       "some thread holds in a call that waits. Release the lock around "
                                                       "that call, or raise WEIR_PYTHON_GIL_TIMEOUT (seconds)")
                                                          .c_str());
  } else {
    return;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

// --- Streams ------------------------------------------------------------------------------------------------------------

std::shared_ptr<Gate> Gate::of(const StreamPtr& stream) {
  if (auto gate = find(*stream)) return gate;
  auto made = std::make_shared<Gate>(stream);  // may allocate memory: not within the lock
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<Gate>& entry = known.all[key_of(*stream)];
  if (auto other = entry.lock(); other && !other->stream_->is_closed()) return other;
  entry = made;
  any_gates = true;
  return made;
}

std::shared_ptr<Gate> Gate::find(const Stream& stream) noexcept {
  if (!any_gates) return nullptr;
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  const auto entry = known.all.find(key_of(stream));
  auto gate = entry != known.all.end() ? entry->second.lock() : nullptr;
  return gate && !gate->stream_->is_closed() ? gate : nullptr;
}

Gate::Gate(StreamPtr stream)
    : stream_(std::move(stream)),
      key_(key_of(*stream_)),
      word_(borrow_word(stream_->device(), false)),
      counts_on_(stream_->device().supports(Feature::wait_value_geq)) {
  if (word_ != nullptr) issued_ = read_word(word_);
}

Gate::~Gate() {
  // Functions that never ran, of a stream that was closed, leave waits behind: nobody may use the word again.
  if (word_ != nullptr && counts_on_ && read_word(word_) == issued_) give_back_word(stream_->device(), false, word_);
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  const auto entry = known.all.find(key_);
  if (entry != known.all.end() && entry->second.expired()) known.all.erase(entry);
}

void Gate::enqueue(std::shared_ptr<PythonCall> call) {
  // A driver whose queue is full waits for room, and holds locks meanwhile that all other calls need. A thread that makes
  // one of these with the interpreter's lock would keep the functions from running that make room. So the queue never fills
  // with them.
  if (!is_host_thread()) {
    for (std::uint32_t done = done_; begun_ - done >= most_under_way; done = done_) done_.wait(done);
  }
  const std::lock_guard lock(mutex_);  // the note and the wait belong together
  const std::uint32_t ticket = issued_ + 1;
  const auto task = std::make_shared<HostCall>(std::move(call), thrown_, word_, ticket, shared_from_this());
  if (word_ == nullptr) {
    stream_->launch_host_function([task] {
      post(task);
      task->wait();
    });
    ++begun_;
    return;
  }
  stream_->launch_host_function([task = task]() mutable { post(std::move(task)); });
  ++begun_;
  issued_ = ticket;
  stream_->wait_value(word_, ticket, counts_on_ ? WaitCondition::geq : WaitCondition::eq);
}

void Gate::hold() {
  Gates& known = gates();
  const std::lock_guard lock(known.mutex);
  known.held.insert(shared_from_this());
}

void Gate::raise() {
  {
    Gates& known = gates();
    const std::lock_guard lock(known.mutex);
    known.held.erase(shared_from_this());
  }
  std::vector<std::shared_ptr<Thrown>> graphs;
  {
    const std::lock_guard lock(graphs_mutex_);
    graphs.swap(graphs_);
  }
  thrown_->raise(*stream_);
  for (const auto& graph : graphs) graph->raise(*stream_);
}

void Gate::watch(const std::shared_ptr<Thrown>& thrown) {
  const std::lock_guard lock(graphs_mutex_);
  if (std::find(graphs_.begin(), graphs_.end(), thrown) != graphs_.end()) return;
  if (graphs_.size() >= graphs_looked_at_) {  // graphs that are gone have nothing more to tell
    std::erase_if(graphs_, [](const auto& graph) { return graph.use_count() == 1 && graph->is_empty(); });
    graphs_looked_at_ = 2 * graphs_.size() + 16;
  }
  graphs_.push_back(thrown);
  hold();
}

// --- Graphs -------------------------------------------------------------------------------------------------------------

void capture_call(Stream& stream, std::shared_ptr<PythonCall> call, std::shared_ptr<Thrown> thrown) {
  GraphNote note(stream.device(), std::move(call), std::move(thrown));
  std::uint32_t* const word = note.word();
  stream.launch_host_function(std::move(note));
  if (word == nullptr) return;
  stream.wait_value(word, 1, WaitCondition::eq);
  stream.write_value(word, 0);  // for the next launch
}

}  // namespace weir::python
