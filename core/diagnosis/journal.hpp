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

/// The journal, enabled by WEIR_JOURNAL. GPUs do not report which operation a stream is executing, so the journal stores
/// each stream's last operations, with an event after each.
namespace weir::detail {

/// An ordinary tool, so that a process without it pays nothing.
class Journal final : public Tool {
 public:
  /// The process's journal, or null.
  static Journal* instance() noexcept;
  /// Creates it if the variable is set; otherwise returns null. Throws `invalid_environment`. Called once.
  static std::unique_ptr<Tool> make_if_wanted();

  void after(const Operation& operation) noexcept override;

  /// The stream's first recorded operation that is not complete, if any. Queries the driver.
  std::optional<PendingWork> first_pending(const Stream& stream);
  /// The streams with incomplete operations, and what the first of these waits for.
  std::vector<BusyStream> busy_streams();
  /// Operations not known to be complete that write the value that `wait` waits for.
  std::vector<ValueWriter> writers_of(const MemoryOperation& wait);
  /// Operations of the device's streams that were not known to be complete. Does not query the driver.
  std::vector<Suspect> not_known_done(const Device& device);

 private:
  struct Entry {
    std::uint64_t id;
    PendingWork work;
    EventPtr done;
    std::optional<StreamKey> awaited;     // for a wait for a stream, or for an event of the stream
    std::vector<MemoryOperation> values;  // that it waits for or writes
  };
  using Ring = std::deque<Entry>;

  explicit Journal(std::size_t length) : length_(length) {}
  void add_record(const Operation& operation);
  Entry entry_of(const Operation& operation);
  static PendingWork first_of(const Ring& ring);
  void add(const StreamKey& stream, Entry&& entry);
  void drop_done(const StreamKey& stream);

  const std::size_t length_;
  std::mutex mutex_;  // never held while the driver is called
  std::map<StreamKey, Ring> rings_;
  /// For each event: where it was recorded last, and its name then. Events are pooled, so there are few.
  std::unordered_map<const Event*, std::pair<StreamKey, std::string>> recorded_on_;
};

}  // namespace weir::detail
