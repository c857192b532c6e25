// SPDX-License-Identifier: Apache-2.0
#include "collectives/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>

#include "collectives/operation.hpp"

namespace weir::collectives {
namespace {

using Clock = Peers::Clock;
using Entry = FlightRecorder::Entry;

constexpr std::string_view last_operations = "operations";
constexpr std::size_t published_operations = 64;

// The names of an operation that are the same on all its ranks: of its series, and of itself.
std::string series_of(const CollectiveCall& call, int rank) {
  if (call.kind == CollectiveCall::Kind::send) return fmt::format("{}>{}:", rank, call.peer);
  if (call.kind == CollectiveCall::Kind::receive) return fmt::format("{}>{}:", call.peer, rank);
  return "";
}
std::string key_of(const CollectiveCall& call, int rank) { return series_of(call, rank) + std::to_string(call.match); }

// What must be the same on all ranks.
std::string content_of(const CollectiveCall& call) {
  return is_paired(call) ? fmt::format("{} {}", call.count, to_string(call.type)) : describe(call);
}

// The operations that ranks compare.
std::vector<Entry> compared(const FlightRecorder& recorder) {
  std::vector<Entry> entries = recorder.entries();
  std::erase_if(entries, [](const Entry& entry) { return entry.is_captured || entry.is_refused; });
  return entries;
}

// One operation of another rank, as it has published it.
struct Line {
  std::string key, content, description;
};

std::vector<Line> parse(std::string_view text) {
  std::vector<Line> lines;
  const auto take = [&](char end) {
    const std::size_t size = text.find(end);
    const std::string_view part = text.substr(0, size);
    text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
    return std::string(part);
  };
  while (!text.empty()) {
    Line line;
    line.key = take('\t');
    line.content = take('\t');
    line.description = take('\n');
    lines.push_back(std::move(line));
  }
  return lines;
}

// Returns what is wrong with a rank's operations, compared with `mine`; "" if nothing.
std::string difference(const Entry& mine, int rank, const std::vector<Line>& others) {
  const std::string key = key_of(mine.call, rank);
  const auto found = std::find_if(others.begin(), others.end(), [&](const Line& line) { return line.key == key; });
  if (found != others.end())
    return found->content == content_of(mine.call) ? "" : "has called another operation: " + found->description;
  const auto is_later = [&](const Line& line) {
    std::uint64_t number = 0;  // stays 0 for a message, "0>1:2", and for text that is damaged
    const char* const end = line.key.data() + line.key.size();
    return std::from_chars(line.key.data(), end, number).ptr == end && number > mine.call.match;
  };
  if (!is_paired(mine.call) && std::any_of(others.begin(), others.end(), is_later)) return "";  // it has forgotten it since
  if (others.empty()) return "has not called it: it has called none";
  return "has not called it: its last one is " + others.back().description;
}

}  // namespace

std::optional<std::string> await_value(Peers& peers, int rank, std::string_view key, Clock::time_point deadline,
                                       const std::function<bool()>& has_failed, std::string& obstacle) {
  using std::chrono::milliseconds;
  for (int refusals = 0;;) {
    const auto until = std::min(deadline, Clock::now() + milliseconds(200));
    std::optional<std::string> value = peers.value_of(rank, key, until);
    if (value || has_failed()) return value;
    obstacle = peers.lost();
    if (obstacle.empty() && peers.is_dead(rank)) obstacle = fmt::format("{} has ended", peers.name_of(rank));
    if (!obstacle.empty() || Clock::now() >= deadline) return std::nullopt;
    if (Clock::now() >= until) continue;
    // The rank is gone. If it has died, that is reported soon.
    if (++refusals == 100) {
      obstacle = fmt::format("{} has left", peers.name_of(rank));
      return std::nullopt;
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void publish_operations(Peers& peers, const FlightRecorder& recorder, int rank) {
  const std::vector<Entry> entries = compared(recorder);
  std::string text;
  for (std::size_t i = entries.size() - std::min(entries.size(), published_operations); i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    text += fmt::format("{}\t{}\t{}\n", key_of(entry.call, rank), content_of(entry.call), describe(entry));
  }
  peers.publish(last_operations, text);
}

std::string absent_ranks(Peers& peers, const FlightRecorder& recorder, int rank, int ranks, Clock::time_point deadline,
                         bool names_operation) {
  const std::vector<Entry> entries = compared(recorder);
  if (entries.empty()) return "this rank has called no operation";
  // If the plugin does not see the ends, the last operation is the best guess.
  const auto is_open = [](const Entry& entry) { return entry.done.count() == 0; };
  const auto open = recorder.sees_ends() ? std::find_if(entries.begin(), entries.end(), is_open) : std::prev(entries.end());
  if (open == entries.end()) return "the last operation of this rank, " + describe(entries.back()) + ", is complete";
  std::vector<std::string> found;
  for (int other = 0; other < ranks; ++other) {
    if (other == rank || (is_paired(open->call) && other != open->call.peer)) continue;
    const auto value = peers.value_of(other, last_operations, deadline);
    if (!value && found.size() > 3) continue;
    std::string text = value                  ? difference(*open, rank, parse(*value))
                       : peers.is_dead(other) ? "has ended"
                                              : "does not answer";
    if (!text.empty()) found.push_back(peers.name_of(other) + " " + text);
  }
  // Nobody has been asked.
  if (!peers.lost().empty()) return names_operation ? fmt::format("this rank waits in {}", describe(*open)) : "";
  if (found.empty())
    return names_operation ? "" : is_paired(open->call) ? "its peer has called it" : "all ranks have called it";
  std::string text = names_operation ? fmt::format("this rank waits in {}; ", describe(*open)) : "";
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 4); ++i) text += (i == 0 ? "" : "; ") + found[i];
  if (found.size() > 4) text += fmt::format("; and {} more ranks", found.size() - 4);
  return text;
}

void OperationCheck::publish(const CollectiveCall& call) {
  current_.push_back({series_of(call, rank_), "check " + key_of(call, rank_)});
  peers_->publish(current_.back().key, content_of(call));
}

std::string OperationCheck::compare(const CollectiveCall& call, std::chrono::milliseconds timeout,
                                    const std::function<bool()>& has_failed) {
  const std::string key = "check " + key_of(call, rank_);
  const auto limit = timeout.count() != 0 ? Clock::now() + timeout : Clock::time_point::max();
  std::string first;  // what rank 0 calls
  for (int rank = 0; rank < ranks_; ++rank) {
    if (is_paired(call) && rank != call.peer) continue;
    std::string obstacle;
    const std::optional<std::string> value =
        rank == rank_ ? content_of(call) : await_value(*peers_, rank, key, limit, has_failed, obstacle);
    if (!value) {
      if (has_failed() || !obstacle.empty()) return obstacle;
      return fmt::format("{} has not called number {}, {}, within {} ms", peers_->name_of(rank), call.match, describe(call),
                         timeout.count());
    }
    if (is_paired(call)) {
      if (*value == content_of(call)) continue;
      const bool sends = call.kind == CollectiveCall::Kind::send;
      return fmt::format("rank {} sends {} to rank {}, but that rank receives {}", sends ? rank_ : call.peer,
                         sends ? content_of(call) : *value, sends ? call.peer : rank_, sends ? *value : content_of(call));
    }
    if (rank == 0) first = *value;
    if (*value != first)
      return fmt::format("the ranks call different operations: rank 0 {}, rank {} {} (number {})", first, rank, *value,
                         call.match);
  }
  return "";
}

void OperationCheck::await_failures() {
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  for (int rank = 0; rank < ranks_; ++rank) peers_->value_of(rank, last_operations, deadline);
}

// A rank publishes an operation when it has compared those before it. So the others have read the previous ones of a series
// when their next ones of that series are here.
void OperationCheck::forget_previous() {
  std::erase_if(previous_, [&](const Published& old) {
    const bool is_read =
        std::any_of(current_.begin(), current_.end(), [&](const Published& now) { return now.series == old.series; });
    if (is_read) peers_->forget(old.key);
    return is_read;
  });
  std::move(current_.begin(), current_.end(), std::back_inserter(previous_));
  current_.clear();
}

}  // namespace weir::collectives
