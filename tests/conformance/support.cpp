// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <cstring>
#include <future>
#include <map>
#include <numeric>

// Implements the helpers for the cases.

namespace conformance {
namespace {

constexpr std::size_t words_per_device = 16384;
constexpr std::size_t word_stride = 64;

// What the suite keeps on a device for its own use. Never freed: its words must outlive all work.
struct Equipment {
  Device& device;
  Buffer<std::byte> words;
  std::atomic<std::size_t> next_word{0};
  Buffer<std::uint32_t> cell;
  Buffer<std::uint32_t> shown;
  StreamPtr stream;
  std::mutex mutex;
  std::uint32_t token = 0;
  std::unique_ptr<Kernels> kernels;

  explicit Equipment(Device& d)
      : device(d),
        words(d.allocate<std::byte>(words_per_device * word_stride, MemoryKind::pinned)),
        cell(d.allocate<std::uint32_t>(2)),
        shown(d.allocate<std::uint32_t>(2, MemoryKind::pinned)),
        stream(d.create_stream()) {
    std::memset(words.data(), 0, words.size_bytes());
  }
};

Device* chosen = nullptr;
CaseNotes notes;

Equipment& equipment(Device& device) {
  static std::mutex mutex;
  static auto& all = *new std::map<Device*, Equipment*>;
  std::lock_guard lock(mutex);
  Equipment*& mine = all[&device];
  if (mine == nullptr) mine = new Equipment(device);
  return *mine;
}

void* take_word(Device& device) {
  Equipment& e = equipment(device);
  const std::size_t index = e.next_word.fetch_add(1);
  REQUIRE_MESSAGE(index < words_per_device, "the suite ran out of pinned words");
  return e.words.data() + index * word_stride;
}

// A round trip through device memory: fill a word, copy it back, wait for it.
bool round_trip(Equipment& e, Stream& stream, std::size_t slot) {
  std::lock_guard lock(e.mutex);
  const std::uint32_t token = ++e.token;
  e.shown.host()[slot] = 0;
  stream.fill(e.cell.subspan(slot, 1), token);
  stream.copy(e.shown.subspan(slot, 1), e.cell.subspan(slot, 1));
  stream.synchronize();
  return e.shown.host()[slot] == token;
}

// The absent ones of the features, and whether an error names the reason of one of them.
bool any_absent(Device& device, std::initializer_list<Feature> features) {
  for (const Feature f : features) {
    if (!device.supports(f)) return true;
  }
  return false;
}

void check_refusal(Device& device, std::initializer_list<Feature> features, const Refusal& refusal) {
  std::string missing;
  bool names_reason = false;
  for (const Feature f : features) {
    if (device.supports(f)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(weir::to_string(f));
    const std::string& reason = device.feature(f).reason;
    CHECK_MESSAGE(!reason.empty(), "absent without a reason: " << std::string(weir::to_string(f)));
    names_reason = names_reason || (!reason.empty() && refusal.says(reason));
  }
  CHECK_MESSAGE(refusal.is(Errc::unsupported),
                "without " << missing << " the call was to throw unsupported; " << refusal.text);
  CHECK_MESSAGE(names_reason, "the error does not give the reason in the feature table: " << refusal.text);
  count_refusal();
}

}  // namespace

weir::Backend& backend() { return device().backend(); }

Device& device() {
  if (chosen == nullptr) throw std::logic_error("no device was chosen");
  return *chosen;
}

Device* second_device() {
  weir::Backend& b = backend();
  if (b.device_count() < 2) return nullptr;
  Device& other = b.device((device().ordinal() + 1) % b.device_count());
  (void)equipment(other);
  return &other;
}

void set_device(Device& device) {
  chosen = &device;
  (void)equipment(device);
}

// --- Refusals and skips -----------------------------------------------------------------------------------------------

Refusal caught(const std::function<void()>& call) {
  Refusal r;
  try {
    call();
  } catch (const weir::Error& e) {
    r.threw = r.from_weir = true;
    r.errc = e.errc();
    r.text = "it threw " + std::string(weir::to_string(e.errc())) + ": " + e.what();
    r.has_operation = !e.operation().empty();
    r.has_cause = !e.detail().empty();
  } catch (const std::exception& e) {
    r.threw = true;
    r.text = std::string("it threw what is no weir::Error: ") + e.what();
  }
  return r;
}

Refusal refusal_of(const std::function<void()>& call) {
  const Refusal r = caught(call);
  CHECK_MESSAGE(r.from_weir == r.threw, r.text);
  if (!r.from_weir) return r;
  CHECK_MESSAGE(r.has_operation, "an error without an operation: " << r.text);
  CHECK_MESSAGE(r.has_cause, "an error without a cause: " << r.text);
  return r;
}

bool needs(Device& device, std::initializer_list<Feature> features, const std::function<void()>& use) {
  if (!any_absent(device, features)) return true;
  check_refusal(device, features, refusal_of(use));
  return false;
}

bool needs(Stream& stream, std::initializer_list<Feature> features, const std::function<void()>& use) {
  if (!any_absent(stream.device(), features)) return true;
  check_refusal(stream.device(), features, refusal_of(use));
  CHECK_MESSAGE(stream.capture_status() == CaptureStatus::none, "the refused call began a capture");
  CHECK_MESSAGE(stream.is_complete(), "the refused call enqueued work");
  CHECK_WORKS(stream);
  return false;
}

void skip(std::string_view why) {
  notes.skipped = why;
  MESSAGE("skipped: " << std::string(why));
}

bool needs_two_devices() {
  if (second_device() != nullptr) return true;
  skip("needs two devices");
  return false;
}

bool host_functions_hold_up_their_submitter() {
  static const bool they_do = [] {
    if (!device().supports(Feature::host_functions)) return false;
    static constexpr auto long_enough = 2s;  // waited for by backends that do
    std::promise<void> submitted;
    bool held_up = false;
    try {
      const StreamPtr s = device().create_stream();
      s->launch_host_function([&held_up, future = submitted.get_future()] {
        held_up = future.wait_for(long_enough) != std::future_status::ready;
      });
      submitted.set_value();
      s->synchronize();
    } catch (const std::exception&) {
      // The cases of host functions tell what is wrong.
    }
    return held_up;
  }();
  return they_do;
}

bool needs_host_functions_that_may_wait() {
  if (!host_functions_hold_up_their_submitter()) return true;
  skip("host functions hold up the thread that submits them, and here one waits for that thread");
  return false;
}

void count_refusal() { notes.refused = true; }

CaseNotes take_case_notes() { return std::exchange(notes, {}); }

// --- Latches ----------------------------------------------------------------------------------------------------------

bool Latch::would_wait_for_itself() {
  if (!host_functions_hold_up_their_submitter()) return false;
  try {
    (void)weir::Registry::instance();  // refused in a host function, and nowhere else
    return false;
  } catch (const weir::Error& e) {
    return e.errc() == Errc::called_from_host_function;
  }
}

template <class T>
Word<T>::Word(Device& device) : address_(static_cast<T*>(take_word(device))) {}
template class Word<std::uint32_t>;
template class Word<std::uint64_t>;

Gate::Gate(Device& device) : word_(device) {}

Gate::Gate(Stream& stream) : Gate(stream.device()) { hold(stream); }

void Gate::hold(Stream& stream) {
  if (stream.device().supports(Feature::wait_value_32)) {
    stream.wait_value(word_.address(), 1U, WaitCondition::eq);
  } else {
    stream.launch_host_function([latch = latch_] { (void)latch->wait(); });
  }
}

void Gate::open() {
  word_.store(1);
  latch_->open();
}

bool needs_gate(Stream& stream) {
  Device& d = stream.device();
  if (d.supports(Feature::wait_value_32)) return true;
  if (d.supports(Feature::host_functions)) return needs_host_functions_that_may_wait();
  const Word32 word(d);
  (void)needs(stream, {Feature::wait_value_32}, [&] { stream.wait_value(word.address(), 1U, WaitCondition::eq); });
  (void)needs(stream, {Feature::host_functions}, [&] { stream.launch_host_function([] {}); });
  return false;
}

void settle(Device& device) {
  constexpr auto long_enough = 100ms;
  Equipment& e = equipment(device);
  const std::lock_guard lock(e.mutex);
  const auto deadline = std::chrono::steady_clock::now() + long_enough;
  for (int i = 0; i < 3; ++i) {
    e.stream->fill(e.cell.subspan(0, 1), ++e.token);
    e.stream->copy(e.shown.subspan(0, 1), e.cell.subspan(0, 1));
    while (!e.stream->is_complete()) {
      if (std::chrono::steady_clock::now() > deadline) return;
      std::this_thread::yield();
    }
  }
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(100us);  // leaves the processor to whoever makes the condition true
  }
  return true;
}

// --- Seeing what streams do -------------------------------------------------------------------------------------------

Values numbers(std::size_t count, std::uint32_t first) {
  Values values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Buffer<std::uint32_t> filled(Stream& stream, std::size_t count, std::uint32_t value, MemoryPoolRef pool) {
  auto memory = stream.allocate_async<std::uint32_t>(count, pool);
  stream.fill(memory, value);
  return memory;
}

bool all_are(const Buffer<std::uint32_t>& memory, std::uint32_t value) {
  return std::all_of(memory.host().begin(), memory.host().end(), [&](std::uint32_t v) { return v == value; });
}

Board::Board(Device& device, std::size_t cells)
    : device_(device),
      cells_(device.allocate<std::uint32_t>(cells)),
      shown_(device.allocate<std::uint32_t>(cells, MemoryKind::pinned)) {
  clear();
  Equipment& e = equipment(device);
  e.stream->fill(cells_, 0U);
  e.stream->synchronize();
}

Board::~Board() {
  try {
    device_.synchronize();
  } catch (const std::exception&) {
    // The case has failed already, and has said so.
  }
}

void Board::set(Stream& stream, std::size_t cell, std::uint32_t value) { stream.fill(cells_.subspan(cell, 1), value); }
void Board::move(Stream& stream, std::size_t to, std::size_t from) {
  stream.copy(cells_.subspan(to, 1), cells_.subspan(from, 1));
}
void Board::show(Stream& stream, std::size_t cell) { stream.copy(shown_.subspan(cell, 1), cells_.subspan(cell, 1)); }
std::uint32_t Board::read(Stream& stream, std::size_t cell) {
  show(stream, cell);
  stream.synchronize();
  return (*this)[cell];
}
Values Board::read(Stream& stream, std::initializer_list<std::size_t> cells) {
  show(stream, cells);
  stream.synchronize();
  return shown(cells);
}
// By `data`: `host` counts as an access to all cells, of which others may be shown meanwhile, and cases look at what is held
// back.
std::uint32_t Board::operator[](std::size_t cell) const { return shown_.data()[cell]; }
Values Board::shown(std::initializer_list<std::size_t> cells) const {
  Values values;
  for (const std::size_t one : cells) values.push_back((*this)[one]);
  return values;
}
void Board::clear() { std::memset(shown_.data(), 0, shown_.size_bytes()); }

void check_held_until(Stream& stream, const Board& board, std::size_t cell, std::uint32_t value,
                      const std::function<void()>& release) {
  settle(stream.device());
  CHECK_FALSE(stream.is_complete());
  CHECK(board[cell] == 0);
  release();
  stream.synchronize();
  CHECK(board[cell] == value);
}

std::vector<StreamPtr> create_streams(std::size_t count) {
  std::vector<StreamPtr> streams;
  while (streams.size() < count) streams.push_back(device().create_stream());
  return streams;
}

void check_usable(std::initializer_list<StreamPtr> streams) {
  for (const StreamPtr& stream : streams) {
    if (!stream || stream->is_closed()) continue;
    INFO("at the end, of ", stream->describe());
    CHECK(stream->capture_status() == CaptureStatus::none);
    CHECK_WORKS(*stream);
  }
}

void TwoStreams::check_held_back(Stream& stream, std::size_t cell, std::uint32_t value) {
  board.show(stream, cell);
  check_held_until(stream, board, cell, value, [this] { gate.open(); });
}

void TwoStreams::check_order(Stream& first, Stream& second, const std::function<void()>& order) {
  if (!hold(first)) return;
  board.set(first, 0, 5);
  order();
  board.move(second, 1, 0);
  check_held_back(second, 1, 5);
}

void TwoStreams::check_independent(Stream& held, Stream& free) {
  if (!hold(held)) return;
  board.put(held, 0, 1);
  board.set(free, 1, 2);
  CHECK(board.read(free, 1) == 2);
  CHECK_FALSE(held.is_complete());
  gate.open();
  held.synchronize();
  CHECK(board[0] == 1);
}

void TwoStreams::check_blocks(const std::function<void()>& call) {
  Latch returned;
  std::thread waiting([&] {
    call();
    returned.open();
  });
  settle();
  const bool early = returned.is_open();
  gate.open();
  CHECK(returned.wait());
  waiting.join();
  CHECK_FALSE(early);
}

EventPtr fresh_event(std::vector<EventPtr>& kept, Device& device) {
  constexpr std::size_t more_than_any_case_uses = 1100;
  while (kept.size() < more_than_any_case_uses) kept.push_back(device.create_event());
  return device.create_event();
}

bool works(Stream& stream) { return round_trip(equipment(stream.device()), stream, 1); }

// --- Kernels ----------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* kernel_source = R"(
extern "C" __global__ void add(unsigned* p, unsigned v) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *p += v;
}
extern "C" __global__ void iota(unsigned n, unsigned first, unsigned* p) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = first + i;
}
extern "C" __global__ void axpy(unsigned n, float a, const float* x, float* y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
)";

}  // namespace

const Kernels& kernels(Device& device) {
  Equipment& e = equipment(device);
  std::lock_guard lock(e.mutex);
  if (e.kernels) return *e.kernels;
  auto k = std::make_unique<Kernels>();
  k->module = device.compile(kernel_source);
  k->add = k->module->untyped_kernel("add");
  k->iota = k->module->untyped_kernel("iota");
  k->axpy = k->module->untyped_kernel("axpy");
  const auto p = e.cell.subspan(0, 1);
  e.stream->launch(k->add, {}, p, 0U);
  e.stream->launch(k->iota, {}, 0U, 0U, p);
  e.stream->launch(k->axpy, {}, 0U, 0.0F, Span<const float>(), Span<float>());
  e.stream->synchronize();
  e.kernels = std::move(k);
  return *e.kernels;
}

bool needs_kernels(Device& device) {
  if (!needs(device, {Feature::runtime_compilation}, [&] { (void)device.compile(kernel_source); })) return false;
  (void)kernels(device);
  return true;
}

}  // namespace conformance
