// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/event.hpp"
#include "weir/health.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/plugin/waits.hpp"

/// The journal, enabled by WEIR_JOURNAL: records the last operations of each stream. GPUs do not report which operation a
/// stream is executing, so the journal records an event after each operation and queries these events.
namespace weir::detail {

/// The journal is a tool, so it costs nothing if it is not enabled. Any thread may use it.
class Journal final : public Tool {
 public:
  /// The process's journal, or null.
  static Journal* instance() noexcept;
  /// Creates the journal if WEIR_JOURNAL or WEIR_STUCK is set; otherwise returns null. Throws `invalid_environment`. Called
  /// once.
  static std::unique_ptr<Tool> make_if_wanted();

  void after(const Operation& operation) noexcept override;

  /// The stream's first recorded operation that is not complete, if any. Queries the driver.
  std::optional<PendingWork> first_pending(const Stream& stream);
  /// The streams with incomplete operations. If the first one is a wait, the result contains what it waits for. Queries the
  /// driver.
  std::vector<BusyStream> busy_streams();
  /// Recorded operations, not known to be complete, that write a value that would end `wait`.
  std::vector<ValueWriter> writers_of(const MemoryOperation& wait);
  /// The recorded operations of the device's streams that are not known to be complete. Does not query the driver, which has
  /// failed.
  std::vector<Suspect> not_known_done(const Device& device);

 private:
  struct Entry {
    std::uint64_t id;
    PendingWork work;
    EventPtr done;
    std::optional<StreamKey> awaited;     // for a wait: the stream that it waits for, or that recorded the event
    std::vector<MemoryOperation> values;  // the values that it waits for or writes
  };
  using Ring = std::deque<Entry>;

  explicit Journal(std::size_t length) : length_(length) {}
  void add_record(const Operation& operation);
  Entry entry_of(const Operation& operation);
  static PendingWork first_of(const Ring& ring);
  void add(const StreamKey& stream, Entry&& entry);
  void drop_done(const StreamKey& stream);

  const std::size_t length_;
  std::mutex mutex_;  // guards the members below; never held during a driver call
  std::map<StreamKey, Ring> rings_;
  /// For each event, the stream that recorded it last, and its name at that time. Never erased: events are reused,
  /// so there are few.
  std::unordered_map<const Event*, std::pair<StreamKey, std::string>> recorded_on_;
};

}  // namespace weir::detail
