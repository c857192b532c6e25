// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <span>

#include "tools/model/process_memory.hpp"
#include "tools/record/recorder.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

// The part of the recorder that saves the host memory that operations read and write.
namespace weir::recording {
namespace {

using detail::NumberWriter;
using model::number_of;

/// Whether the ranges can be accessed by a host function before or after the operation. On a GPU, this is false for pageable
/// memory, because the program may free it as soon as the call has returned.
bool may_wait(const Operation& operation, const HostRanges& ranges) {
  const auto is_pageable = [](const HostRange& range) { return range.saved.first.memory == of_host; };
  return operation.device->supports(Feature::host_functions) &&
         (operation.device->backend().name() == "host" || std::none_of(ranges.begin(), ranges.end(), is_pageable));
}

}  // namespace

/// Merges ranges that touch or overlap.
void Recorder::merge(HostRanges& ranges) {
  const auto key = [](const HostRange& range) { return std::pair(range.saved.first.memory, range.saved.first.offset); };
  std::sort(ranges.begin(), ranges.end(), [&](const HostRange& a, const HostRange& b) { return key(a) < key(b); });
  HostRanges merged;
  for (const HostRange& range : ranges) {
    if (!merged.empty() && merged.back().saved.first.memory == range.saved.first.memory) {
      SavedRange& last = merged.back().saved;
      if (const std::uint64_t distance = range.saved.first.offset - last.first.offset; distance <= last.bytes) {
        last.bytes = std::max(last.bytes, distance + range.saved.bytes);
        continue;
      }
    }
    merged.push_back(range);
  }
  ranges = std::move(merged);
}

void Recorder::record_accesses(const Operation& operation, Written& memory) {
  for (const MemoryAccess& access : operation.accesses) {
    const auto* row = static_cast<const std::byte*>(access.address);
    const bool is_dense = access.rows == 1 || access.pitch == access.bytes;
    for (std::size_t i = 0; i < (is_dense ? 1 : access.rows); ++i, row += access.pitch)
      record_range(operation, row, is_dense ? access.bytes * access.rows : access.bytes, access.kind != AccessKind::read,
                   memory);
  }
}

/// Records a range if the host can read it. For a captured operation, the range is recorded at each launch of the graph.
void Recorder::record_range(const Operation& operation, const void* address, std::size_t bytes, bool writes,
                            Written& memory) {
  const Block* const block = blocks_.find(number_of(address));
  if (block != nullptr ? !block->is_readable : !model::is_readable(address)) return;
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(address));
  if (operation.capture != 0) {
    graphs_.capture_of(operation).nodes.push_back({writes, false, begin, bytes});
    return;
  }
  const SavedAddress first = find(number_of(address), bytes).value_or(SavedAddress{of_host, 0, number_of(address)});
  (writes ? memory.results : memory.reads).push_back({{first, bytes}, begin});
}

void Recorder::record_nodes(const Operation& operation, Written& memory) {
  const std::vector<Node>* const nodes = graphs_.nodes_of(operation);
  if (nodes == nullptr) return;
  if (operation.capture != 0) {
    std::vector<Node>& outer = graphs_.capture_of(operation).nodes;
    outer.insert(outer.end(), nodes->begin(), nodes->end());
    return;
  }
  bool has_function = false;
  for (const Node& node : *nodes) {
    has_function |= node.is_host_function;
    if (!node.is_host_function) record_range(operation, node.begin, node.bytes, node.writes, memory);
  }
  if (has_function && !memory.reads.empty())
    add_omission(
        "contents that a host function in a graph writes and the same launch reads: the contents before the launch are "
        "recorded instead");
}

/// Saves the memory that an operation reads: when the operation runs, or immediately if that would be too late.
void Recorder::save(const Operation& operation, const Written& written) {
  if (operation.stream == nullptr || !may_wait(operation, written.reads)) return save_now(written.number, written.reads);
  const_cast<Stream*>(operation.stream)->launch_host_function([this, number = written.number, ranges = written.reads] {
    save_now(number, ranges);
  });
}

void Recorder::save_now(Number operation, const HostRanges& ranges) noexcept try {
  const std::lock_guard lock(mutex_);
  NumberWriter data;
  data.put(operation);
  for (const HostRange& range : ranges) file_.add_pieces(range.saved, range.begin, data);
  file_.add(record::contents, "", data.bytes);
  file_.flush();
  if (file_.is_full()) stop("its contents", file_.flaw());
} catch (const std::exception& error) {
  support::log(support::LogLevel::error, "record: ", error.what());
}

void Recorder::check(const Operation& operation, const Written& written) {
  if (operation.stream == nullptr) return check_now(written.number, written.results);
  auto* const stream = const_cast<Stream*>(operation.stream);
  if (!may_wait(operation, written.results)) {
    // Wait for an event, because `synchronize` would throw the pending exceptions of the program's host functions here.
    stream->record()->synchronize();
    return check_now(written.number, written.results);
  }
  stream->launch_host_function([this, number = written.number, ranges = written.results] { check_now(number, ranges); });
}

void Recorder::check_now(Number operation, const HostRanges& ranges) noexcept try {
  NumberWriter data;
  data.put(operation);
  for (const HostRange& range : ranges) {
    for_each_piece(range.saved,
                   [&](std::size_t at, std::size_t size) { data.put(check_of(std::span(range.begin + at, size))); });
  }
  const std::lock_guard lock(mutex_);
  file_.add(record::result, "", data.bytes);
  file_.flush();
} catch (const std::exception& error) {
  support::log(support::LogLevel::error, "record: ", error.what());
}

}  // namespace weir::recording
