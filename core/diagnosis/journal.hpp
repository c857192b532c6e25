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

/// The journal: what WEIR_JOURNAL asks for. GPUs do not tell which operation a stream is at, so the last ones of each stream
/// are remembered, each with an event behind it.
namespace weir::detail {

/// A tool like others, so that a process without it pays nothing.
class Journal final : public Tool {
 public:
  /// The process's journal; null if there is none.
  static Journal* instance() noexcept;
  /// Makes it, if the variable asks for one; null if not. Throws `invalid_environment`. Called once.
  static std::unique_ptr<Tool> make_if_wanted();

  void after(const Operation& operation) noexcept override;

  /// The first operation of the stream that is not done; nothing if none is remembered. Asks the driver.
  std::optional<PendingWork> first_pending(const Stream& stream);
  /// The streams that have operations which are not done, and what the first of these waits for.
  std::vector<BusyStream> busy_streams();
  /// The operations that are not known to be done and write the value for which `wait` waits.
  std::vector<ValueWriter> writers_of(const MemoryOperation& wait);
  /// The operations of the device's streams that were not known to be done. Asks nobody.
  std::vector<Suspect> not_known_done(const Device& device);

 private:
  struct Entry {
    std::uint64_t id;
    PendingWork work;
    EventPtr done;
    std::optional<StreamKey> awaited;     // of a wait for a stream, or an event of it
    std::vector<MemoryOperation> values;  // that it waits for, and writes
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
  /// Of each event, where it was recorded last, and the name that it had. Events are pooled, so there are not many.
  std::unordered_map<const Event*, std::pair<StreamKey, std::string>> recorded_on_;
};

}  // namespace weir::detail
