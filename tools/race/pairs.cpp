// SPDX-License-Identifier: Apache-2.0
#include "tools/race/pairs.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "weir/plugin/stream.hpp"

namespace weir::race {
namespace {

const StreamImpl* stream_of(const Operation& operation) {
  const bool counts = operation.stream != nullptr && operation.capture == 0 && traits_of(operation.kind).is_in_order;
  return counts ? static_cast<const StreamImpl*>(operation.stream) : nullptr;
}

}  // namespace

void Pairs::begin(const Operation& operation) {
  if (!are_wanted()) return;
  if (operation.host_function != 0) callers_[operation.id] = operation.host_function;
  if (const StreamImpl* const stream = stream_of(operation)) names_[operation.id].first = stream->do_given_operations() + 1;
}

void Pairs::end(const Operation& operation) {
  if (!are_wanted()) return;
  if (operation.node) nodes_[operation.id] = operation.node->index;
  if (const StreamImpl* const stream = stream_of(operation)) {
    Name& name = names_[operation.id];
    name.stream = stream->do_id();
    name.last = stream->do_given_operations();
    // An allocation completes together with the operation before it, so use the name of that operation.
    if (operation.kind == OperationKind::allocate) name.first = name.last;
    if (operation.has_failed || name.last == 0 || name.last < name.first)
      names_.erase(operation.id);  // the call enqueued nothing
  }
  // The host backend cannot see this memory, so the comparison leaves it out.
  const std::string_view call = operation.name;
  const bool is_others = call == "Device::adopt_memory" || call == "Device::open_allocation";
  if (is_others && !operation.has_failed) std::ofstream(file_, std::ios::app) << "{\"memory\":\"of other code\"}\n";
  write_named(false);
}

void Pairs::launch(std::uint64_t launch, const std::set<std::uint64_t>& operations) {
  for (Pair& pair : unnamed_) {
    auto& [first, second] = pair.sides;
    if (first.launch != 0 || second.launch != 0 || !first.node || !second.node) continue;
    if (operations.contains(first.operation) && operations.contains(second.operation)) first.launch = second.launch = launch;
  }
}

Pairs::Side Pairs::side_of(const Access& access) {
  return {access.point.lane == 0, access.step->operation, access.launch ? access.launch->operation : 0, access.node};
}

void Pairs::add(const Access& first, const Access& second, nlohmann::ordered_json report) {
  if (are_wanted()) unnamed_.push_back({{side_of(first), side_of(second)}, std::move(report)});
}

void Pairs::finish() {
  if (are_wanted()) write_named(true);
}

void Pairs::write_named(bool is_end) {
  std::erase_if(unnamed_, [&](const Pair& pair) {
    std::string names[2], lasts[2];
    for (int i = 0; i < 2; ++i) {
      names[i] = name_of(pair.sides[i], false);
      lasts[i] = name_of(pair.sides[i], true);
    }
    if (!is_end && (names[0].empty() || names[1].empty())) return false;
    nlohmann::ordered_json report = pair.report;
    for (int i = 0; i < 2; ++i) {
      nlohmann::ordered_json& side = report[i == 0 ? "first" : "second"];
      side["name"] = names[i];
      side["last"] = lasts[i];
    }
    std::ofstream(file_, std::ios::app) << report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                                        << '\n';
    return true;
  });
}

std::string Pairs::name_of(const Side& side, bool last) const {
  if (side.is_host) return "host";
  const auto caller = callers_.find(side.operation);
  const std::uint64_t operation = caller != callers_.end() ? caller->second : side.operation;
  const auto name = names_.find(side.launch != 0 ? side.launch : operation);
  if (name == names_.end() || name->second.stream == 0) return "";
  const std::string text = fmt::format("{}.{}", name->second.stream, last ? name->second.last : name->second.first);
  if (side.launch == 0) return text;
  if (side.node) return fmt::format("{}/{}", text, *side.node);
  const auto node = nodes_.find(operation);
  return node != nodes_.end() ? fmt::format("{}/{}", text, node->second) : "";
}

}  // namespace weir::race
