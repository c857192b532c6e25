// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/journal.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "core/diagnosis/pending.hpp"
#include "core/diagnosis/stuck.hpp"
#include "core/runtime/diagnosis_hook.hpp"
#include "core/runtime/impl.hpp"
#include "core/runtime/names.hpp"
#include "core/runtime/stream_core.hpp"
#include "weir/device.hpp"
#include "weir/module.hpp"
#include "weir/plugin/support.hpp"

// Implements the journal, and creates the tools of this room.
namespace weir::detail {
namespace {

// If there are more streams than this, the journal forgets all operations, so that programs that keep creating streams do
// not fill memory.
constexpr std::size_t most_streams = 1024;

std::atomic<Journal*> journal{nullptr};

/// The present value at `wait.address`. Nullopt for device memory, which the host cannot read: process_vm_readv reports
/// this, while a load would crash.
std::optional<std::uint64_t> value_at(const MemoryOperation& wait) noexcept {
  std::uint64_t value = 0;
  const iovec here{&value, wait.is_64() ? sizeof(std::uint64_t) : sizeof(std::uint32_t)}, there{wait.address, here.iov_len};
  const bool is_read = ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(here.iov_len);
  return is_read ? std::optional(value) : std::nullopt;
}

}  // namespace

Journal* Journal::instance() noexcept { return journal.load(std::memory_order_acquire); }

std::unique_ptr<Tool> Journal::make_if_wanted() {
  // WEIR_STUCK enables the journal, because without it the report could not name operations on GPUs.
  const long usual = support::environment("WEIR_STUCK") ? 16 : 0;
  const long length = support::environment_number("WEIR_JOURNAL", usual, 1, 4096);
  if (length == 0) return nullptr;
  auto* const made = new Journal(static_cast<std::size_t>(length));
  journal.store(made, std::memory_order_release);
  return std::unique_ptr<Tool>(made);
}

void Journal::add_record(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  recorded_on_[operation.event] = {operation.stream_key, operation.event->name()};
}

Journal::Entry Journal::entry_of(const Operation& operation) {
  using Kind = PendingWork::Kind;
  Entry entry{.id = operation.id, .work = {}, .done = {}, .awaited = {}, .values = {}};
  const auto is = [&](Kind kind, std::string subject = {}) {
    entry.work = {.kind = kind, .subject = std::move(subject)};
    return entry;
  };
  switch (operation.kind) {
    case OperationKind::kernel: return is(Kind::kernel, operation.kernel->name());
    case OperationKind::host_function:
    case OperationKind::callback:
      entry.work = {.kind = Kind::host_function, .name = std::string(operation.label)};
      return entry;
    case OperationKind::launch_graph: return is(Kind::graph);
    case OperationKind::external: return is(Kind::other, operation.name);
    case OperationKind::wait_stream:
      entry.awaited = operation.awaited;
      return is(Kind::stream, support::label_of(operation.awaited));
    case OperationKind::wait_event: {
      const std::lock_guard lock(mutex_);
      const auto found = recorded_on_.find(operation.event);
      if (found == recorded_on_.end()) return is(Kind::stream, "an event that other code has recorded");
      const auto& [stream, name] = found->second;
      entry.awaited = stream;
      return is(Kind::stream, fmt::format("{} event{} of {}", name.empty() ? "an" : "the", names::quoted(name),
                                          support::label_of(stream)));
    }
    case OperationKind::memory_operations: {
      entry.values.assign(operation.memory_operations.begin(), operation.memory_operations.end());
      const auto wait =
          std::find_if(entry.values.begin(), entry.values.end(), [](const MemoryOperation& op) { return op.is_wait(); });
      if (wait == entry.values.end()) break;
      is(Kind::value);
      entry.work.wait = *wait;
      return entry;
    }
    default: break;
  }
  std::string text = operation.name;
  if (!operation.accesses.empty())
    text += fmt::format(" of {} bytes", operation.accesses[0].bytes * operation.accesses[0].rows);
  return is(Kind::memory, std::move(text));
}

void Journal::after(const Operation& operation) noexcept try {
  if (operation.has_failed || operation.stream == nullptr || operation.capture != 0) return;
  // A wait may have made the stream join a capture, which `operation.capture` does not contain yet. Such a wait is not
  // recorded in the journal. `is_capturing` also finds captures that other code began.
  const bool waits = operation.kind == OperationKind::wait_stream || operation.kind == OperationKind::wait_event;
  if (waits && (open_captures.load(std::memory_order_acquire) != 0 || operation.stream->is_capturing())) return;
  if (operation.kind == OperationKind::record) return add_record(operation);
  if (traits_of(operation.kind).is_in_order) {
    Entry entry = entry_of(operation);
    entry.done = const_cast<Stream*>(operation.stream)->record();
    add(operation.stream_key, std::move(entry));
  }
  drop_done(operation.stream_key);
} catch (const std::exception& error) {  // because other code captures the stream, or memory is exhausted
  support::log(support::LogLevel::debug, "journal: ", error.what());
}

void Journal::add(const StreamKey& stream, Entry&& entry) {
  std::vector<Entry> dropped;  // destroyed after the lock is released, because destroying events calls the driver
  const std::lock_guard lock(mutex_);
  if (rings_.size() >= most_streams && !rings_.contains(stream)) rings_.clear();
  Ring& ring = rings_[stream];
  ring.push_back(std::move(entry));
  if (ring.size() > length_) {
    dropped.push_back(std::move(ring.front()));
    ring.pop_front();
  }
}

/// Removes completed operations from the front of a stream's ring.
void Journal::drop_done(const StreamKey& stream) {
  for (;;) {
    Entry first;
    {
      const std::lock_guard lock(mutex_);
      const auto ring = rings_.find(stream);
      if (ring == rings_.end() || ring->second.empty()) return;
      first = ring->second.front();
    }
    if (!impl(*first.done).do_look()) return;
    const std::lock_guard lock(mutex_);
    const auto ring = rings_.find(stream);
    if (ring != rings_.end() && !ring->second.empty() && ring->second.front().id == first.id) ring->second.pop_front();
  }
}

std::optional<PendingWork> Journal::first_pending(const Stream& stream) {
  const StreamKey key = key_of(stream);
  drop_done(key);
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(key);
  if (ring == rings_.end() || ring->second.empty()) return {};
  return first_of(ring->second);
}

PendingWork Journal::first_of(const Ring& ring) {
  PendingWork work = ring.front().work;
  work.behind = ring.size() - 1;
  if (work.kind == PendingWork::Kind::value) {
    if (const std::optional<std::uint64_t> now = value_at(work.wait)) work.subject = fmt::format("now it is {}", *now);
  }
  return work;
}

std::vector<BusyStream> Journal::busy_streams() {
  std::vector<StreamKey> keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, ring] : rings_) keys.push_back(key);
  }
  std::vector<BusyStream> busy;
  for (const StreamKey& key : keys) {
    drop_done(key);
    const std::lock_guard lock(mutex_);
    const auto ring = rings_.find(key);
    if (ring == rings_.end() || ring->second.empty()) continue;
    const Entry& first = ring->second.front();
    BusyStream stream{.key = key, .first = first_of(ring->second), .awaited = {}};
    if (first.awaited) stream.awaited.push_back({line_of(first.work), first.awaited, {}});
    if (first.work.kind == PendingWork::Kind::value) stream.awaited.push_back({line_of(first.work), {}, first.work.wait});
    busy.push_back(std::move(stream));
  }
  return busy;
}

std::vector<ValueWriter> Journal::writers_of(const MemoryOperation& wait) {
  std::vector<ValueWriter> writers;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, ring] : rings_) {
    std::size_t behind = 0;
    for (const Entry& entry : ring) {
      const bool writes = std::any_of(entry.values.begin(), entry.values.end(), [&](const MemoryOperation& operation) {
        return operation.is_write() && operation.address == wait.address && support::would_end(wait, operation.value);
      });
      if (writes) writers.push_back({key, behind, "a written value"});
      ++behind;
    }
  }
  return writers;
}

std::vector<Suspect> Journal::not_known_done(const Device& device) {
  std::vector<Suspect> suspects;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, ring] : rings_) {
    if (key.device != &device) continue;
    for (const Entry& entry : ring) suspects.push_back({support::label_of(key), entry.work});
  }
  return suspects;
}

std::vector<std::unique_ptr<Tool>> make_diagnosis_tools() {
  std::vector<std::unique_ptr<Tool>> tools;
  if (std::unique_ptr<Tool> made = Journal::make_if_wanted()) tools.push_back(std::move(made));
  if (std::unique_ptr<Tool> made = Stuck::make_if_wanted()) tools.push_back(std::move(made));
  return tools;
}

std::vector<Suspect> operations_not_known_done(const Device& device) {
  Journal* const known = Journal::instance();
  return known != nullptr ? known->not_known_done(device) : std::vector<Suspect>();
}

}  // namespace weir::detail
