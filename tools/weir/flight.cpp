// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

#include "commands.hpp"
#include "core/base/error_text.hpp"
#include "report.hpp"

namespace weir::tool {
namespace {

struct Operation {
  std::uint64_t match = 0;
  std::string content;  // what must be the same on all ranks
  std::string text;     // for messages: with the number
  std::string state;
};

// What one rank has left.
struct Flight {
  std::string process, failure;
  int ranks = 1;
  std::map<std::uint64_t, Operation> collectives;                               // by number
  std::map<std::pair<int, bool>, std::map<std::uint64_t, Operation>> messages;  // by peer and whether this rank sends
  std::optional<Operation> open;  // the first one that is not done; without any that is done, the last one
  const Operation* last() const { return collectives.empty() ? nullptr : &collectives.rbegin()->second; }
};

using Flights = std::map<int, Flight>;  // by rank

void read(const std::string& file, std::map<std::string, Flights>& all) {
  const auto throw_error = [&](const std::string& cause) { throw std::runtime_error(file + " " + cause); };
  std::ifstream in(file);
  if (!in) throw_error("cannot be read");
  const Json record = Json::parse(in, nullptr, false);
  if (record.is_discarded() || !record.is_object() || record.value("weir_flight_record", 0) != 1)
    throw_error("is not a flight record of this version; write one with WEIR_FLIGHT_RECORD");
  try {
    Flight flight;
    flight.process = fmt::format("{}, process {}", record.at("host").get<std::string>(), record.at("process").get<int>());
    flight.failure = record.at("failure");
    flight.ranks = record.at("ranks");
    bool sees_ends = false;
    for (const Json& call : record.at("operations")) {
      Operation operation;
      operation.match = call.at("match");
      operation.state = call.at("state");
      if (operation.match == 0 || operation.state == "refused") continue;
      const std::string kind = call.at("kind");
      const bool sends = kind == "send", is_message = sends || kind == "receive";
      if (kind != "barrier")
        operation.content = fmt::format("{} {}", call.at("count").get<std::uint64_t>(), call.at("type").get<std::string>());
      if (call.contains("reduction")) operation.content += " by " + call.at("reduction").get<std::string>();
      if (call.contains("root")) operation.content += fmt::format(" with root {}", call.at("root").get<int>());
      operation.text = kind + (operation.content.empty() ? "" : " of " + operation.content);
      if (!is_message) operation.content = operation.text;
      if (is_message) {
        const int peer = call.at("peer");
        operation.text += fmt::format(" {} rank {} (message {})", sends ? "to" : "from", peer, operation.match);
        flight.messages[{peer, sends}][operation.match] = operation;
      } else {
        operation.text += fmt::format(" (number {})", operation.match);
        flight.collectives[operation.match] = operation;
      }
      const bool is_open = operation.state != "done";
      if (operation.state != "enqueued") sees_ends = true;
      if (is_open && (!flight.open || !sees_ends)) flight.open = operation;
    }
    const int rank = record.at("rank");
    constexpr int most_ranks = 1'000'000;
    if (rank < 0 || rank >= flight.ranks || flight.ranks > most_ranks)
      throw_error(fmt::format("is damaged: it is of rank {} of {} ranks, of at most {}", rank, flight.ranks, most_ranks));
    all[record.at("communicator").get<std::string>()].insert_or_assign(rank, std::move(flight));
  } catch (const Json::exception& error) {
    throw_error(fmt::format("is damaged: {}", error.what()));
  }
}

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min<std::size_t>(ranks.size(), 16); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  return text + (ranks.size() > 16 ? fmt::format(" and {} more", ranks.size() - 16) : "");
}

// Adds what is wrong with one communicator. Returns whether there is anything.
bool find_differences(const Flights& flights, std::string& text) {
  bool found = false;
  const auto add = [&](const std::string& line) {
    text += "  " + line + "\n";
    found = true;
  };
  std::vector<int> absent;
  for (int rank = 0; rank < flights.begin()->second.ranks; ++rank) {
    if (!flights.contains(rank)) absent.push_back(rank);
  }
  if (!absent.empty()) add(list(absent) + " left no record: killed, stopped, or without a failure");
  // The first number that two ranks use for different operations.
  std::map<std::uint64_t, std::map<std::string, std::vector<int>>> contents;
  std::uint64_t most = 0;
  for (const auto& [rank, flight] : flights) {
    for (const auto& [number, operation] : flight.collectives) contents[number][operation.content].push_back(rank);
    if (flight.last() != nullptr) most = std::max(most, flight.last()->match);
  }
  for (const auto& [number, its] : contents) {
    if (its.size() < 2) continue;
    std::string line = fmt::format("the ranks differ from number {} on:", number);
    const char* separator = " ";
    for (const auto& [content, ranks] : its) {
      line += separator + list(ranks) + " " + content;
      separator = "; ";
    }
    add(line);
    break;
  }
  for (const auto& [rank, flight] : flights) {
    const std::uint64_t last = flight.last() != nullptr ? flight.last()->match : 0;
    if (last < most) {
      add(fmt::format("rank {} is behind: it has called {} of {} collectives{}", rank, last, most,
                      last == 0 ? "" : ", the last one " + flight.last()->text));
    }
    // Messages that the peer, whose record is here, has not called.
    for (const auto& [where, messages] : flight.messages) {
      const auto& [peer, sends] = where;
      const auto other = flights.find(peer);
      if (other == flights.end()) continue;
      const auto theirs = other->second.messages.find({rank, !sends});
      for (const auto& [number, message] : messages) {
        if (message.state == "done") continue;
        const bool is_empty = theirs == other->second.messages.end();
        const auto match = is_empty ? std::map<std::uint64_t, Operation>::const_iterator{} : theirs->second.find(number);
        if (is_empty || (match == theirs->second.end() && theirs->second.begin()->first < number)) {
          add(fmt::format("rank {} waits in {}, which rank {} has not called", rank, message.text, peer));
          break;
        }
        if (match != theirs->second.end() && match->second.content != message.content) {
          add(fmt::format("rank {} calls {}, rank {} {}", rank, message.text, peer, match->second.text));
          break;
        }
      }
    }
  }
  return found;
}

}  // namespace

FlightReport compare_flights(const std::vector<std::string>& files) {
  std::map<std::string, Flights> all;  // by communicator
  for (const std::string& file : files) read(file, all);
  FlightReport report;
  for (const auto& [name, flights] : all) {
    report.text += fmt::format("communicator {}: {} of {} ranks\n", name, flights.size(), flights.begin()->second.ranks);
    for (const auto& [rank, flight] : flights) {
      report.text += fmt::format("  rank {} ({}): {}\n", rank, flight.process,
                                 flight.open                ? "waits in " + flight.open->text + ", " + flight.open->state
                                 : flight.last() != nullptr ? "is done with " + flight.last()->text
                                                            : "has called no collective");
      if (!flight.failure.empty()) report.text += "    failure: " + flight.failure + "\n";
    }
    if (find_differences(flights, report.text))
      report.agrees = false;
    else
      report.text += "  all ranks have called the same operations\n";
  }
  report.text = detail::escaped(report.text, "\n");
  return report;
}

}  // namespace weir::tool
