// SPDX-License-Identifier: Apache-2.0
#include "core/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "core/impl.hpp"
#include "core/names.hpp"
#include "core/stream_core.hpp"
#include "weir/device.hpp"
#include "weir/module.hpp"
#include "weir/plugin/support.hpp"

namespace weir::detail {
namespace {

// Of a program that makes ever new streams, the rings of so many are kept.
constexpr std::size_t most_streams = 1024;

std::atomic<Journal*> journal{nullptr};

}  // namespace

Journal* Journal::instance() noexcept { return journal.load(std::memory_order_acquire); }

std::unique_ptr<Tool> Journal::make_if_wanted() {
  const long length = support::environment_number("WEIR_JOURNAL", 0, 1, 4096);
  if (length == 0) return nullptr;
  auto* const made = new Journal(static_cast<std::size_t>(length));
  journal.store(made, std::memory_order_release);
  return std::unique_ptr<Tool>(made);
}

void Journal::note_record(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  records_[operation.event] = fmt::format("{} event{} of {}", operation.event->name().empty() ? "an" : "the",
                                          names::quoted(operation.event->name()), support::label_of(operation.stream_key));
}

PendingWork Journal::work_of(const Operation& operation) {
  using Kind = PendingWork::Kind;
  switch (operation.kind) {
    case OperationKind::kernel: return {.kind = Kind::kernel, .subject = operation.kernel->name()};
    case OperationKind::host_function:
    case OperationKind::callback: return {.kind = Kind::host_function, .subject = std::string(operation.label)};
    case OperationKind::launch_graph: return {.kind = Kind::graph};
    case OperationKind::external: return {.kind = Kind::other, .subject = operation.name};
    case OperationKind::wait_stream: return {.kind = Kind::stream, .subject = support::label_of(operation.awaited)};
    case OperationKind::wait_event: {
      const std::lock_guard lock(mutex_);
      const auto found = records_.find(operation.event);
      return {.kind = Kind::stream,
              .subject = found != records_.end() ? found->second : "an event that other code recorded"};
    }
    case OperationKind::memory_operations: {
      const auto& list = operation.memory_operations;
      const auto wait = std::find_if(list.begin(), list.end(), [](const MemoryOperation& op) { return op.is_wait(); });
      if (wait != list.end()) return {.kind = Kind::value, .wait = *wait};
      break;
    }
    default: break;
  }
  std::string text = operation.name;
  if (!operation.accesses.empty())
    text += fmt::format(" of {} bytes", operation.accesses[0].bytes * operation.accesses[0].rows);
  return {.kind = Kind::memory, .subject = std::move(text)};
}

void Journal::after(const Operation& operation) noexcept try {
  if (operation.has_failed || operation.stream == nullptr || operation.capture != 0) return;
  // A wait may have drawn the stream into a capture; it is no member of it before the call is over. Captures of other code
  // are asked for.
  const bool waits = operation.kind == OperationKind::wait_stream || operation.kind == OperationKind::wait_event;
  if (waits && (open_captures.load(std::memory_order_acquire) != 0 || operation.stream->is_capturing())) return;
  if (operation.kind == OperationKind::record) return note_record(operation);
  if (traits_of(operation.kind).is_in_order) {
    PendingWork work = work_of(operation);
    add(operation.stream_key, {operation.id, std::move(work), const_cast<Stream*>(operation.stream)->record()});
  }
  drop_done(operation.stream_key);
} catch (const std::exception& error) {  // a capture of other code's, or no memory
  support::log(support::LogLevel::debug, "journal: ", error.what());
}

void Journal::add(const StreamKey& stream, Entry&& entry) {
  std::vector<Entry> dropped;  // their events go outside the lock
  const std::lock_guard lock(mutex_);
  if (rings_.size() >= most_streams && !rings_.contains(stream)) rings_.clear();
  Ring& ring = rings_[stream];
  ring.push_back(std::move(entry));
  if (ring.size() > length_) {
    dropped.push_back(std::move(ring.front()));
    ring.pop_front();
  }
}

/// Drops the operations at a stream's front that are done.
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
  PendingWork work = ring->second.front().work;
  work.behind = ring->second.size() - 1;
  return work;
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

}  // namespace weir::detail
