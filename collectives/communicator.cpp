// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "collectives/agreement.hpp"
#include "collectives/extent.hpp"
#include "collectives/flight_record.hpp"
#include "collectives/operation.hpp"
#include "collectives/peers.hpp"
#include "core/base/enum_name.hpp"
#include "core/base/no_destructor.hpp"
#include "core/runtime/stream_call.hpp"
#include "core/runtime/tools.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

namespace weir {

using detail::StreamCall;
using detail::StreamCore;
using Kind = CollectiveCall::Kind;

// --- Names ------------------------------------------------------------------------------------------------------------

std::string_view to_string(ElementType type) noexcept {
  return detail::enum_name(
      type, {"int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"});
}

std::size_t size_of(ElementType type) noexcept {
  constexpr std::uint8_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 2, 4, 8};
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(sizes) ? sizes[i] : 0;
}

std::string_view to_string(Reduction reduction) noexcept {
  return detail::enum_name(reduction, {"sum", "prod", "min", "max", "avg"});
}

std::string_view to_string(CommunicatorFeature feature) noexcept {
  return detail::enum_name(feature, {"capture", "avg", "bfloat16", "timeout", "split"});
}

std::string_view to_string(Kind kind) noexcept {
  return detail::enum_name(kind, {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "send",
                                  "receive", "barrier"});
}

namespace {

const char* operation_name(Kind kind) noexcept {
  constexpr const char* names[] = {"Communicator::all_reduce", "Communicator::broadcast",      "Communicator::reduce",
                                   "Communicator::all_gather", "Communicator::reduce_scatter", "Communicator::all_to_all",
                                   "Communicator::send",       "Communicator::receive",        "Communicator::barrier"};
  return names[static_cast<std::size_t>(kind)];
}

// WEIR_COMM_CHECK, which the first communicator reads.
std::atomic<bool> checks_operations{false};

// Returns the capture of the stream. Throws `unsupported` if the stream captures and the communicator's calls cannot be
// captured.
CaptureState capture_of(const Communicator& communicator, const StreamCall& entered) {
  const CaptureState capture = entered.usable_capture();
  if (capture && !communicator.supports(CommunicatorFeature::capture)) [[unlikely]] {
    throw Error(Errc::unsupported, entered.operation(), communicator.describe(),
                "the stream is capturing, but collectives cannot be captured here: " +
                    communicator.feature(CommunicatorFeature::capture).reason);
  }
  return capture;
}

// The calls that the calling thread has made in an open group. The group keeps the communicators and streams alive, because
// the caller may drop its last reference before the group ends.
struct OpenGroup {
  struct Owners {
    CommunicatorPtr communicator;
    StreamPtr stream;
  };
  int depth = 0;
  std::vector<CollectiveCall> calls;
  std::vector<Owners> owners;  // for each call
};

// The group is on the heap, because a library that is loaded late has little thread-local memory.
OpenGroup& open_group() {
  thread_local const auto group = std::make_unique<OpenGroup>();
  return *group;
}

}  // namespace

bool Communicator::is_grouping() noexcept { return open_group().depth != 0; }

// --- Groups -----------------------------------------------------------------------------------------------------------

Communicator::Group::Group() : first_(open_group().calls.size()) { ++open_group().depth; }

Communicator::Group::~Group() {
  OpenGroup& open = open_group();
  --open.depth;
  if (submitted_ && open.depth != 0) return;
  while (open.calls.size() > first_) {
    open.calls.pop_back();
    // The owners are destroyed last, because their destructors may call functions that open a group.
    const OpenGroup::Owners gone = std::move(open.owners.back());
    open.owners.pop_back();
  }
}

void Communicator::Group::submit() {
  submitted_ = true;
  if (open_group().depth != 1) return;
  // Each library gets all its calls in one batch; the order among libraries does not matter. The calls are moved out of the
  // open group first, because a library may call functions that open a group.
  std::vector<CollectiveCall> calls;
  std::vector<OpenGroup::Owners> owners;
  calls.swap(open_group().calls);
  owners.swap(open_group().owners);
  // In the meantime the program may have closed a stream, or begun or ended its capture. All calls must still be submitted,
  // because the other ranks wait for them.
  for (CollectiveCall& call : calls)
    call.capture = capture_of(*call.communicator, StreamCall(*call.stream, operation_name(call.kind)));
  for (auto first = calls.begin(); first != calls.end();) {
    const std::string& library = first->communicator->library_;
    const auto next = std::stable_partition(
        first, calls.end(), [&](const CollectiveCall& call) { return call.communicator->library_ == library; });
    Communicator::submit({first, next});
    first = next;
  }
  calls.clear();
  owners.clear();
  if (!open_group().calls.empty()) return;
  open_group().calls.swap(calls);  // so that the next group can use the memory
  open_group().owners.swap(owners);
}

// --- A communicator ---------------------------------------------------------------------------------------------------

Communicator::Communicator(Device& device, int rank, int size, std::string library)
    : device_(&device), rank_(rank), size_(size), library_(std::move(library)) {
  for (FeatureState& state : features_) state.support = Support::native;
}

Communicator::~Communicator() = default;

CommunicatorImpl::CommunicatorImpl(Device& device, int rank, int size, std::string library,
                                   std::chrono::milliseconds timeout)
    : Communicator(device, rank, size, std::move(library)),
      timeout_(timeout),
      recorder_(std::make_shared<FlightRecorder>(size)) {
  static const bool checks = support::environment_number("WEIR_COMM_CHECK", 0, 0, 1) != 0;
  if (checks) checks_operations = true;
  collectives::flight_folder();  // throws if the variable is wrong
  // The name that all processes give the communicator, if they make their communicators in the same order.
  static std::mutex mutex;
  static detail::NoDestructor<std::map<std::pair<int, int>, int>> made;  // by size and rank
  const std::lock_guard lock(mutex);
  name_ = fmt::format("ranks{}-{}", size, ++(*made)[{size, rank}]);
}

CommunicatorImpl::~CommunicatorImpl() = default;

CommunicatorImpl& Communicator::impl() noexcept { return static_cast<CommunicatorImpl&>(*this); }

void* Communicator::native_handle() const noexcept { return static_cast<const CommunicatorImpl&>(*this).do_native_handle(); }

void CommunicatorImpl::set_feature(CommunicatorFeature feature, Support support, std::string reason) {
  features_[static_cast<std::size_t>(feature)] = {support, std::move(reason)};
}

const FeatureState& Communicator::feature(CommunicatorFeature feature) const noexcept {
  static const FeatureState none{Support::absent, "this value is not a feature; use the enumerators"};
  const auto i = static_cast<std::size_t>(feature);
  return i < features_.size() ? features_[i] : none;
}

std::string Communicator::describe() const {
  return fmt::format("{} rank {} of {} on {}", library_.substr(0, library_.find(' ')), rank_, size_, device_->describe());
}

namespace {

[[noreturn]] void throw_null_stream(const Communicator& communicator, const char* operation) {
  throw Error(Errc::invalid_argument, operation, communicator.describe(), "the stream is null");
}

}  // namespace

void Communicator::enqueue(const CollectiveCall& asked) {
  CollectiveCall call = asked;
  call.communicator = this;
  if (call.stream == nullptr) throw_null_stream(*this, operation_name(call.kind));
  Stream& stream = *call.stream;
  const StreamCall entered(stream, operation_name(call.kind));
  const auto throw_error = [&](Errc code, std::string_view cause) {
    throw Error(code, entered.operation(), describe(), cause);
  };
  if (impl().has_failed()) [[unlikely]]
    impl().throw_failure(entered.operation());
  if (&stream.device() != device_) [[unlikely]] {
    throw_error(Errc::wrong_device, "the stream is of " + stream.device().describe());
  }
  const std::size_t element = size_of(call.type);
  if (element == 0) [[unlikely]]
    throw_error(Errc::invalid_argument, "this value is not an element type; use the enumerators");
  entered.check_bytes(call.count, element * static_cast<std::size_t>(size_));
  if ((collectives::has_root(call) || collectives::is_paired(call)) && (call.peer < 0 || call.peer >= size_)) [[unlikely]] {
    throw_error(Errc::invalid_argument, fmt::format("rank {} does not exist; the ranks are 0 to {}", call.peer, size_ - 1));
  }
  if (collectives::reduces(call)) {
    if (call.reduction > Reduction::avg) [[unlikely]] {
      throw_error(Errc::invalid_argument, "this value is not a reduction; use the enumerators");
    }
    if (call.reduction == Reduction::avg && !supports(CommunicatorFeature::avg)) [[unlikely]] {
      throw_error(Errc::unsupported, "avg is not available: " + feature(CommunicatorFeature::avg).reason);
    }
    if (call.type == ElementType::bfloat16 && !supports(CommunicatorFeature::bfloat16)) [[unlikely]] {
      throw_error(Errc::unsupported, "bfloat16 is not available: " + feature(CommunicatorFeature::bfloat16).reason);
    }
  }
  call.capture = capture_of(*this, entered);
  if (call.kind != Kind::barrier) {
    if (call.count == 0) return;
    const collectives::Extent bytes = collectives::extent(call);
    const bool lacks_send = call.send == nullptr && bytes.sent != 0;
    if (lacks_send || (call.receive == nullptr && bytes.received != 0)) [[unlikely]] {
      throw_error(Errc::invalid_argument,
                  fmt::format("the address of what is {} is null", lacks_send ? "sent" : "received"));
    }
    if (call.kind == Kind::all_to_all && call.send == call.receive) [[unlikely]] {
      throw_error(Errc::invalid_argument, "all_to_all cannot be in place; receive into other memory");
    }
  }
  call.native_stream = StreamCore::handle(stream);
  if (open_group().depth != 0) {
    open_group().calls.push_back(call);
    try {
      open_group().owners.push_back({CommunicatorPtr(this), StreamPtr(&stream)});
    } catch (...) {
      open_group().calls.pop_back();
      throw;
    }
  } else {
    submit({&call, 1});
  }
}

// Passes calls of one library to that library, and reports them to tools.
void Communicator::submit(std::span<CollectiveCall> calls) try {
  CommunicatorImpl& first = calls.front().communicator->impl();
  for (CollectiveCall& call : calls) call.communicator->impl().recorder_->add(call);
  if (!detail::is_watched() && !checks_operations.load(std::memory_order_relaxed)) [[likely]]
    return first.do_enqueue(calls);
  detail::out_of_line([&] {
    if (checks_operations.load(std::memory_order_relaxed)) CommunicatorImpl::compare(calls);
    if (!detail::is_watched()) return first.do_enqueue(calls);
    const auto submit_from = [&](const auto& self, std::size_t i) -> void {
      if (i == calls.size()) return first.do_enqueue(calls);
      const CollectiveCall& call = calls[i];
      const collectives::Extent bytes = collectives::extent(call);
      detail::ToolNotice notice(*call.stream, OperationKind::external, operation_name(call.kind), call.capture);
      if (bytes.sent != 0) notice.reads(call.send, bytes.sent);
      if (bytes.received != 0) notice.writes(call.receive, bytes.received);
      notice.run([&] { self(self, i + 1); });
    };
    submit_from(submit_from, 0);
  });
} catch (...) {
  // A call that was refused does not count. One that has made the communicator fail is what the record is for.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    CommunicatorImpl& communicator = call->communicator->impl();
    if (call->number != 0 && !communicator.has_failed()) communicator.recorder_->refuse(*call);
  }
  throw;
}

namespace {

CollectiveCall call_of(Kind kind, const CollectiveData& data, StreamRef stream, Reduction reduction = Reduction::sum,
                       int peer = 0) {
  CollectiveCall call{data};
  call.kind = kind;
  call.stream = stream.get();
  call.reduction = reduction;
  call.peer = peer;
  return call;
}

}  // namespace

void Communicator::all_reduce_raw(const CollectiveData& data, Reduction reduction, StreamRef stream) {
  enqueue(call_of(Kind::all_reduce, data, stream, reduction));
}
void Communicator::broadcast_raw(const CollectiveData& data, int root, StreamRef stream) {
  enqueue(call_of(Kind::broadcast, data, stream, {}, root));
}
void Communicator::reduce_raw(const CollectiveData& data, Reduction reduction, int root, StreamRef stream) {
  enqueue(call_of(Kind::reduce, data, stream, reduction, root));
}
void Communicator::all_gather_raw(const CollectiveData& data, StreamRef stream) {
  enqueue(call_of(Kind::all_gather, data, stream));
}
void Communicator::reduce_scatter_raw(const CollectiveData& data, Reduction reduction, StreamRef stream) {
  enqueue(call_of(Kind::reduce_scatter, data, stream, reduction));
}
void Communicator::all_to_all_raw(const CollectiveData& data, StreamRef stream) {
  enqueue(call_of(Kind::all_to_all, data, stream));
}
void Communicator::send_raw(const void* data, std::size_t count, ElementType type, int to, StreamRef stream) {
  enqueue(call_of(Kind::send, {.send = data, .count = count, .type = type}, stream, {}, to));
}
void Communicator::receive_raw(void* data, std::size_t count, ElementType type, int from, StreamRef stream) {
  enqueue(call_of(Kind::receive, {.receive = data, .count = count, .type = type}, stream, {}, from));
}
void Communicator::barrier(StreamRef stream) { enqueue(call_of(Kind::barrier, {}, stream)); }

void Communicator::throw_lengths(const char* operation, std::size_t received, std::size_t sent, std::size_t receive_parts,
                                 std::size_t send_parts) const {
  std::string rule = "both need the same number";
  if (receive_parts != 1 && send_parts != 1)
    rule = fmt::format("both need the same multiple of {}, the number of ranks", size_);
  else if (receive_parts != 1 || send_parts != 1)
    rule = fmt::format("with {} ranks the {} must be {} times as many as the {}", size_,
                       receive_parts != 1 ? "received" : "sent", size_, receive_parts != 1 ? "sent" : "received");
  throw Error(Errc::length_mismatch, operation, describe(),
              fmt::format("{} elements are received, but {} are sent; {}", received, sent, rule));
}

// --- Comparing (WEIR_COMM_CHECK) --------------------------------------------------------------------------------------

// Waits until all ranks are about to enqueue the same operations. All calls of a group are published before the first is
// compared, because the thread may call for several ranks.
void CommunicatorImpl::compare(std::span<const CollectiveCall> calls) {
  const auto of = [](const CollectiveCall& call) -> CommunicatorImpl& { return call.communicator->impl(); };
  for (const CollectiveCall& call : calls) {
    const CommunicatorImpl& communicator = of(call);
    if (communicator.check_ && !call.capture) communicator.check_->publish(call);
    if (communicator.check_ || communicator.size() == 1 || communicator.library().starts_with("host ")) continue;
    static std::atomic<bool> has_warned{false};
    if (!has_warned.exchange(true)) {
      support::log(support::LogLevel::warn, "WEIR_COMM_CHECK does not compare the calls of " + communicator.describe() +
                                                ", because its ranks are not connected beside the library; create it by "
                                                "Communicator::from_environment");
    }
  }
  for (const CollectiveCall& call : calls) {
    CommunicatorImpl& communicator = of(call);
    if (!communicator.check_ || call.capture) continue;
    const std::string difference =
        communicator.check_->compare(call, communicator.timeout_, [&] { return communicator.has_failed(); });
    if (!difference.empty()) {
      if (!communicator.has_failed()) communicator.is_explained_ = true;
      communicator.fail(difference);
      communicator.check_->await_failures();
    }
    if (communicator.has_failed()) communicator.throw_failure(operation_name(call.kind));
  }
  for (const CollectiveCall& call : calls) {
    if (of(call).check_) of(call).check_->forget_previous();
  }
}

// --- Failing ----------------------------------------------------------------------------------------------------------

// Returns whether this is the first failure.
bool CommunicatorImpl::set_failure(std::string_view cause, NativeError native) noexcept {
  const std::lock_guard lock(failure_mutex_);
  if (failed_.load(std::memory_order_relaxed)) return false;
  try {
    failure_ = cause;
    failure_native_ = std::move(native);
  } catch (...) {  // out of memory: the failure has no text
  }
  failed_.store(true, std::memory_order_release);
  return true;
}

void CommunicatorImpl::fail(std::string_view cause, NativeError native) noexcept {
  if (set_failure(cause, std::move(native))) end_failed(true, cause);
}

void CommunicatorImpl::fail_late(std::uint64_t number) noexcept try {
  is_late_ = true;
  std::string text = "the work of a stream";
  for (const FlightRecorder::Entry& entry : recorder_->entries()) {
    if (entry.call.number == number) text = collectives::describe(entry);
  }
  fail(fmt::format("{} has not ended within {} ms", text, timeout_.count()));
} catch (...) {
  fail("an operation has not ended within the timeout");
}

// Shows the other ranks what this rank has called, ends its waits, and writes its record.
void CommunicatorImpl::end_failed(bool announces, std::string_view cause) noexcept {
  if (const auto others = peers()) {
    try {
      collectives::publish_operations(*others, *recorder_, rank());
    } catch (...) {  // the others then report that this rank does not answer
    }
    if (announces) others->announce(cause);
  }
  do_abort();
  try {
    collectives::write_flight_record(flight_header(), *recorder_);
  } catch (...) {  // out of memory
  }
}

collectives::FlightHeader CommunicatorImpl::flight_header() const {
  const std::lock_guard lock(failure_mutex_);
  return {.communicator = name_, .rank = rank(), .ranks = size(), .library = library(), .device = device().describe(),
          .failure = failure_};
}

std::string Communicator::flight_record() const {
  const auto& impl = static_cast<const CommunicatorImpl&>(*this);
  return collectives::flight_text(impl.flight_header(), *impl.recorder_);
}

// Returns what to add to the failure's text about the other ranks.
std::string CommunicatorImpl::absent_ranks() {
  if (is_explained_ || size() == 1) return "";
  const auto others = peers();
  if (!others && !is_late_) return "";
  if (!others) {
    return "; the ranks are not connected beside the library, so the one that did not come cannot be named: use "
           "Communicator::from_environment, or set WEIR_FLIGHT_RECORD and compare the records with `weir flight`";
  }
  constexpr std::chrono::seconds most(2);
  const std::lock_guard lock(naming_mutex_);
  if (!absent_ranks_) {
    absent_ranks_ = collectives::absent_ranks(*others, *recorder_, rank(), size(),
                                              collectives::Peers::Clock::now() + most, !is_late_);
    if (!absent_ranks_->empty()) absent_ranks_->insert(0, "; ");
    const std::lock_guard failure(failure_mutex_);
    if (const std::string lost = others->lost(); failure_.find(lost) == std::string::npos)
      absent_ranks_->insert(0, "; " + lost);
  }
  return *absent_ranks_;
}

std::shared_ptr<collectives::Peers> CommunicatorImpl::peers() const {
  const std::lock_guard lock(failure_mutex_);
  return peers_;
}

void CommunicatorImpl::set_peers(std::shared_ptr<collectives::Peers> peers) {
  {
    const std::lock_guard lock(failure_mutex_);
    peers_ = peers;
  }
  if (checks_operations) check_ = std::make_shared<collectives::OperationCheck>(peers, rank(), size());
  peers->watch([this](const std::string& sentence) {
    if (set_failure(sentence, {})) end_failed(false, sentence);
  });
}

// The peers' thread must not call an object whose destructor has begun.
void CommunicatorImpl::dispose() noexcept {
  if (const auto others = peers()) others->watch({});
  Communicator::dispose();
}

void CommunicatorImpl::throw_failure(const char* operation) {
  const std::string absent = absent_ranks();
  const std::lock_guard lock(failure_mutex_);
  throw Error(Errc::communicator_failed, operation, describe(), failure_ + absent + "; create a new communicator",
              failure_native_);
}

void Communicator::check() {
  detail::enter("Communicator::check");
  if (!impl().has_failed()) impl().do_check();
  if (impl().has_failed()) impl().throw_failure("Communicator::check");
}

void Communicator::synchronize(StreamRef stream) {
  if (!stream) throw_null_stream(*this, "Communicator::synchronize");
  stream->synchronize();
  check();
}

void Communicator::watch(StreamRef watched) {
  if (!watched) throw_null_stream(*this, "Communicator::watch");
  Stream& stream = *watched;
  const StreamCall entered(stream, "Communicator::watch");
  if (impl().has_failed()) impl().throw_failure(entered.operation());
  if (&stream.device() != device_) {
    throw Error(Errc::wrong_device, entered.operation(), describe(), "the stream is of " + stream.device().describe());
  }
  entered.throw_if_capturing();
  impl().do_watch(stream, StreamCore::handle(stream));
}

void Communicator::abort() {
  detail::enter("Communicator::abort");
  if (!impl().has_failed()) impl().is_explained_ = true;
  impl().fail("Communicator::abort was called");
}

namespace {

[[noreturn]] void throw_lack(const char* function) {
  throw Error(Errc::unsupported, function, "", "this library has no such function");
}

}  // namespace

CommunicatorId CommunicatorLibrary::create_id(Device&) { throw_lack("CommunicatorLibrary::create_id"); }
CommunicatorLibrary::MpiPlace CommunicatorLibrary::mpi_place(const MpiCommunicator&) {
  throw_lack("CommunicatorLibrary::mpi_place");
}
void CommunicatorLibrary::mpi_broadcast(const MpiCommunicator&, std::span<std::byte>) {
  throw_lack("CommunicatorLibrary::mpi_broadcast");
}

}  // namespace weir
