// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/wait_chains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "core/base/no_destructor.hpp"
#include "core/diagnosis/journal.hpp"
#include "core/diagnosis/pending.hpp"
#include "core/runtime/health.hpp"
#include "core/runtime/impl.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"

// Implements `WaitChains`, and the registration of descriptions for values that libraries wait for.
namespace weir::detail {
namespace {

constexpr std::size_t most_told = 64;  // the maximum number of streams in a report

constexpr const char* only_the_program = "Weir cannot see what that function waits for";

/// The functions that `add_wait_description` has registered.
struct Descriptions {
  std::mutex mutex;
  std::vector<support::DescribeWait> functions;

  static Descriptions& instance() noexcept {
    static NoDestructor<Descriptions> descriptions;
    return *descriptions;
  }
  std::string describe(const void* word) {
    std::vector<support::DescribeWait> all;
    {
      const std::lock_guard lock(mutex);
      all = functions;
    }
    for (const support::DescribeWait function : all) {
      if (std::string text = function(word); !text.empty()) return text;
    }
    return "";
  }
};

std::string operations(std::size_t count) { return fmt::format("{} operation{}", count, count == 1 ? "" : "s"); }

}  // namespace

WaitChains::WaitChains() {
  const auto add = [this](std::vector<BusyStream>&& more) {
    for (BusyStream& stream : more) name_function(stream.first, stream.key);
    std::move(more.begin(), more.end(), std::back_inserter(streams_));
  };
  for (const Device* const device : HealthCore::devices()) add(impl(*device).do_busy_streams());
  if (Journal* const journal = Journal::instance()) {
    std::vector<BusyStream> from_journal = journal->busy_streams();
    std::erase_if(from_journal, [this](const BusyStream& stream) { return find(stream.key) != nullptr; });
    add(std::move(from_journal));
  }
}

const BusyStream* WaitChains::find(const StreamKey& key) const noexcept {
  const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const BusyStream& s) { return s.key == key; });
  return found != streams_.end() ? &*found : nullptr;
}

std::string WaitChains::name_of(const StreamKey& key) const {
  const BusyStream* const stream = find(key);
  return stream != nullptr && !stream->name.empty() ? stream->name : support::label_of(key);
}

bool WaitChains::goes_on(const StreamKey& key) const noexcept {
  const BusyStream* const stream = find(key);
  return stream == nullptr || stream->awaited.empty();
}

bool WaitChains::all_wait() const noexcept {
  return !streams_.empty() && std::all_of(streams_.begin(), streams_.end(), [](const BusyStream& stream) {
    return !stream.awaited.empty() || stream.calls_program;
  });
}

/// Returns the stream that must make progress to end the wait, with a line that explains why. If no such stream is known,
/// the key's device is null.
WaitChains::Next WaitChains::next_of(const Awaited& awaited) const {
  if (awaited.stream) return {*awaited.stream, ""};
  if (!awaited.value) return {};
  std::vector<ValueWriter> writers;
  const auto add = [&](std::vector<ValueWriter>&& more) {
    std::move(more.begin(), more.end(), std::back_inserter(writers));
  };
  for (const Device* const device : HealthCore::devices()) add(impl(*device).do_writers_of(*awaited.value));
  if (Journal* const journal = Journal::instance(); journal != nullptr && writers.empty())
    add(journal->writers_of(*awaited.value));
  if (writers.empty()) {
    if (std::string text = Descriptions::instance().describe(awaited.value->address); !text.empty())
      return {{}, std::move(text)};
  }
  if (writers.empty())
    return {{}, "no enqueued operation would write that value, so the host or another process must write it"};
  // One writer suffices to end the wait, so prefer a stream that is not blocked.
  const auto alive =
      std::find_if(writers.begin(), writers.end(), [this](const ValueWriter& w) { return goes_on(w.stream); });
  const ValueWriter& writer = alive != writers.end() ? *alive : writers.front();
  return {writer.stream, fmt::format("{} would write that value: {}{}", name_of(writer.stream), writer.what,
                                     writer.behind != 0 ? ", " + operations(writer.behind) + " further on" : "")};
}

std::vector<std::string> WaitChains::chain_of(const StreamKey& stream, std::vector<StreamKey>* passed) const {
  std::vector<std::string> lines;
  std::vector<StreamKey> path = {stream};
  for (const BusyStream* at = find(stream); at != nullptr && !at->awaited.empty();) {
    // The operation waits for all of `awaited`. Follow the one whose stream is blocked.
    Next next;
    for (const Awaited& awaited : at->awaited) {
      Next candidate = next_of(awaited);
      const bool is_stuck = candidate.stream.device == nullptr || !goes_on(candidate.stream);
      if (&awaited == &at->awaited.front() || is_stuck) next = std::move(candidate);
      if (is_stuck) break;
    }
    if (next.stream.device == nullptr) {
      if (!next.line.empty()) lines.push_back(std::move(next.line));
      break;
    }
    const auto before = std::find(path.begin(), path.end(), next.stream);
    if (before != path.end()) {
      if (!next.line.empty()) lines.push_back(std::move(next.line));
      std::string circle = "a circle: ";
      for (auto key = before; key != path.end(); ++key) circle += name_of(*key) + " -> ";
      lines.push_back(circle + name_of(next.stream));
      break;
    }
    path.push_back(next.stream);
    at = find(next.stream);
    const std::string state = at != nullptr ? "is at " + line_of(at->first) : "has no known work";
    lines.push_back(next.line.empty() ? name_of(next.stream) + " " + state : next.line + "; it " + state);
  }
  if (const BusyStream* const last = find(path.back()); path.size() > 1 && last != nullptr && last->calls_program)
    lines.emplace_back(only_the_program);
  if (passed != nullptr) passed->insert(passed->end(), path.begin(), path.end());
  return lines;
}

std::string WaitChains::describe() const {
  std::string text;
  std::vector<StreamKey> told;
  std::size_t count = 0;
  for (const BusyStream& stream : streams_) {
    if (std::find(told.begin(), told.end(), stream.key) != told.end()) continue;
    if (++count > most_told) return text + fmt::format("  and more: {} streams have work\n", streams_.size());
    text += fmt::format("  {} is at {}\n", name_of(stream.key), line_of(stream.first));
    for (const std::string& line : chain_of(stream.key, &told)) text += "    " + line + '\n';
    if (stream.calls_program) text += fmt::format("    {}\n", only_the_program);
  }
  return text;
}

}  // namespace weir::detail

void weir::support::add_wait_description(DescribeWait describe) {
  detail::Descriptions& all = detail::Descriptions::instance();
  const std::lock_guard lock(all.mutex);
  all.functions.push_back(describe);
}
