// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/saved/kernel_bundle_format.hpp"
#include "weir/error.hpp"
#include "weir/span.hpp"

namespace weir::tool {

using detail::BundleHeader;
using detail::BundleReader;
using detail::NumberReader;
using detail::SavedAddress;
using recording::SavedRange;
namespace record = recording::record;

namespace {

void throw_bad_recording(std::span<const std::byte> bytes, const std::string& flaw) {
  throw Error(Errc::invalid_image, "weir replay", fmt::format("recording of {} bytes", bytes.size()), flaw);
}

constexpr const char* no_recording = "it is not a recording: it does not begin like a file of weir record";

std::uint64_t pieces_in(const std::vector<SavedRange>& ranges) {
  std::uint64_t pieces = 0;
  for (const SavedRange& range : ranges) {
    const std::uint64_t begin = range.first.offset % recording::piece_bytes;
    pieces += (begin + range.bytes + recording::piece_bytes - 1) / recording::piece_bytes;
  }
  return pieces;
}

}  // namespace

class Recording::Reader {
 public:
  Reader(Recording& to, std::span<const std::byte> file) : to_(to), file_(file) {}

  void read() {
    if (file_.size() < sizeof(BundleHeader)) throw_bad_recording(file_, no_recording);
    std::uint64_t segments = 0;
    for (std::span<const std::byte> rest = file_; !rest.empty(); ++segments) {
      BundleHeader header{};
      if (rest.size() >= sizeof(header)) std::memcpy(&header, rest.data(), sizeof(header));
      const bool begins = std::memcmp(header.magic, recording::magic.data(), sizeof(header.magic)) == 0;
      if (begins ? header.size > rest.size() : rest.size() < sizeof(header)) {
        to_.end = fmt::format("the file ends within a record, after {} bytes of it", rest.size());
        break;
      }
      if (begins && header.size < sizeof(header)) throw_bad_recording(file_, "it is damaged: a segment is too short");
      const auto segment = begins ? rest.first(header.size) : rest;
      BundleReader reader(
          segment, recording::magic, recording::version,
          rest.size() == file_.size() ? no_recording : "it is damaged: the end of a segment is not followed by a segment",
          throw_bad_recording);
      if (recording::segment_check(segments, segment.subspan(sizeof(header))) != header.check)
        throw_damaged(fmt::format("segment {} was changed, or is in the wrong place", segments + 1));
      while (!reader.at_end()) {
        if (to_.is_complete) throw_damaged("there is data after its end");
        reader.next();
        take(reader);
      }
      rest = rest.subspan(segment.size());
    }
    finish();
  }

  /// Refuses an address outside the recorded memory. Also collects the host memory that the replay needs.
  void check(const SavedAddress& address, std::uint64_t bytes, bool may_be_null) {
    if (may_be_null && address.memory == SavedAddress::null) return;
    if (address.memory == recording::of_host) {
      const std::uint64_t begin = address.offset;
      if (begin == 0 || begin >> 57U != 0 || bytes > std::uint64_t{1} << 57U)
        throw_damaged("an address of the host is invalid");
      std::uintptr_t& memory_end = to_.host[begin];
      memory_end = std::max(memory_end, begin + bytes);
      return;
    }
    const std::uint64_t size = memory_in_use(address.memory).bytes;
    for (auto& [stream, used] : captures_) used.insert(address.memory);
    if (address.offset > size || bytes > size - address.offset)
      throw_damaged(fmt::format("{} bytes from byte {} are not within a memory of {}", bytes, address.offset, size));
  }

 private:
  [[noreturn]] void throw_damaged(const std::string& flaw) const {
    throw_bad_recording(file_, "it is damaged: " + flaw);
    __builtin_unreachable();
  }

  void take(const BundleReader& reader) {
    NumberReader data(file_, reader.data, throw_bad_recording);
    if (reader.kind == record::operation) {
      take_operation(data, reader.name);
    } else if (reader.kind == record::piece) {
      if (reader.data.empty() || reader.data.size() > recording::piece_bytes)
        throw_damaged("a piece of memory has the wrong size");
      to_.pieces.push_back(data.take_all());
    } else if (reader.kind == record::contents) {
      RecordedStep& step = take_step(data);
      while (!data.at_end()) step.contents.push_back(data.take<std::uint32_t>());
      check_contents(step);
    } else if (reader.kind == record::result) {
      RecordedStep& step = take_step(data);
      while (!data.at_end()) step.checks.push_back(data.take<std::uint64_t>());
      if (step.checks.size() != pieces_in(step.results)) throw_damaged("a result has too few or too many checksums");
    } else if (reader.kind == record::failed) {
      take_step(data).has_failed = true;
    } else if (reader.kind == record::device) {
      to_.devices.emplace_back(reader.name);
    } else if (reader.kind == record::stream) {
      const auto stream = data.take<recording::SavedStream>();
      check_number("device", stream.device, to_.devices.size());
      to_.streams.emplace_back(stream, reader.name);
    } else if (reader.kind == record::event) {
      const auto device = data.take<std::uint32_t>();
      check_number("device", device, to_.devices.size());
      to_.events.push_back({device, data.take<std::uint32_t>() != 0});
    } else if (reader.kind == record::module) {
      const auto device = data.take<std::uint32_t>();
      check_number("device", device, to_.devices.size());
      to_.modules.push_back({device, data.take_all()});
    } else if (reader.kind == record::function) {
      const auto module = data.take<std::uint32_t>();
      check_number("module", module, to_.modules.size());
      to_.kernels.push_back({module, std::string(reader.name)});
    } else if (reader.kind == record::note) {
      to_.notes.emplace_back(reader.name);
    } else if (reader.kind == record::stop) {
      to_.end = reader.name;
    } else if (reader.kind == record::end) {
      to_.is_complete = true;
    }
  }

  RecordedStep& take_step(NumberReader& data) {
    const auto number = data.take<std::uint32_t>();
    if (number == 0 || number > to_.steps.size()) throw_damaged(fmt::format("operation {} does not exist", number));
    return to_.steps[number - 1];
  }

  void check_number(const char* what, std::uint32_t number, std::size_t count) const {
    if (number >= count) throw_damaged(fmt::format("{} {} does not exist", what, number));
  }

  void check_contents(const RecordedStep& step) const {
    std::size_t next = 0;
    for (const SavedRange& range : step.reads) {
      recording::for_each_piece(range, [&](std::size_t, std::size_t size) {
        if (next == step.contents.size()) throw_damaged("contents are too short");
        check_number("piece", step.contents[next], to_.pieces.size());
        if (to_.pieces[step.contents[next++]].size() != size) throw_damaged("a piece of memory has the wrong size");
      });
    }
    if (next != step.contents.size()) throw_damaged("contents are too long");
  }

  Memory& memory_in_use(std::uint32_t number) {
    check_number("memory", number, to_.memory.size());
    if (to_.memory[number].is_freed) throw_damaged(fmt::format("memory {} is used after it was freed", number));
    return to_.memory[number];
  }

  std::vector<SavedRange> take_ranges(NumberReader& data, std::uint32_t count) {
    std::vector<SavedRange> ranges;
    for (; count > 0; --count) {
      ranges.push_back(data.take<SavedRange>());
      if (ranges.back().bytes == 0) throw_damaged("a range is empty");
      check(ranges.back().first, ranges.back().bytes, false);
    }
    return ranges;
  }

  void take_operation(NumberReader& data, std::string_view name) {
    const auto saved = data.take<recording::SavedOperation>();
    RecordedStep step;
    step.kind = static_cast<OperationKind>(saved.kind);
    step.name = name;
    step.is_captured = saved.is_captured != 0;
    step.stream = saved.stream;
    step.object = saved.object;
    step.other = saved.other;
    if (step.stream != recording::none) check_number("stream", step.stream, to_.streams.size());
    step.reads = take_ranges(data, saved.reads);
    step.results = take_ranges(data, saved.results);
    take_content(step, data);
    data.end();
    to_.steps.push_back(std::move(step));
  }

  void take_content(RecordedStep& step, NumberReader& data) {
    const auto needs_stream = [&] {
      if (step.stream == recording::none) throw_damaged("an operation has no stream");
    };
    const auto object = [&](const char* what, std::size_t count) { check_number(what, step.object, count); };
    switch (step.kind) {
      case OperationKind::kernel:
      case OperationKind::copy:
      case OperationKind::fill:
      case OperationKind::memory_operations: needs_stream(); return take_work(step, data);
      case OperationKind::host_copy:
        check_number("device", step.other, to_.devices.size());
        take_work(step, data);
        if (step.items.count != 2 || part_of(to_.work.boxes, step.items)[0].height != 1 ||
            part_of(to_.work.boxes, step.items)[0].depth != 1)
          throw_damaged("a copy by the host must have exactly one range");
        return;
      case OperationKind::allocate:
      case OperationKind::module_global: {
        const bool is_global = step.kind == OperationKind::module_global;
        object(is_global ? "module" : "device", is_global ? to_.modules.size() : to_.devices.size());
        const auto saved = data.take<detail::SavedMemory>();
        if (saved.bytes == 0 || saved.bytes > detail::most_bytes) throw_damaged("memory has an invalid size");
        step.made = static_cast<std::uint32_t>(to_.memory.size());
        to_.memory.push_back({saved.bytes, data.take_enumerator(saved.kind, MemoryKind::managed)});
        if (to_.memory.back().kind != MemoryKind::device && (is_global || step.stream != recording::none))
          throw_damaged("memory has a kind that this operation cannot allocate");
        // Memory that was allocated in a capture is freed by its graph.
        if (step.is_captured) graph_memory_.insert(step.made);
        return;
      }
      case OperationKind::free: memory_in_use(step.object).is_freed = true; return;
      case OperationKind::host_access: {
        step.results = take_ranges(data, 1);
        if (step.results[0].first.memory == recording::of_host)
          throw_damaged("an access by the host is to memory that was not allocated");
        return;
      }
      case OperationKind::host_function:
        if (step.stream != recording::none) return;
        if (step.object == 0 || step.object > to_.steps.size() || !is_launched_function(to_.steps[step.object - 1]))
          throw_damaged("an operation that has run is not a host function");
        return;
      case OperationKind::record:
      case OperationKind::wait_event: needs_stream(); return object("event", to_.events.size());
      case OperationKind::wait_stream: needs_stream(); return object("stream", to_.streams.size());
      case OperationKind::synchronize:
        if (step.stream != recording::none) return;
        if (step.object != recording::none) return object("event", to_.events.size());
        return check_number("device", step.other, to_.devices.size());
      case OperationKind::begin_capture:
        needs_stream();
        if (step.object != recording::none) object("graph", graphs_.size());
        captures_[step.stream] = step.object != recording::none ? graphs_[step.object] : MemoryNumbers();
        return;
      case OperationKind::end_capture: {
        needs_stream();
        const auto capture = captures_.extract(step.stream);
        step.made = static_cast<std::uint32_t>(graphs_.size());
        if (step.other == 1) graphs_.push_back(capture ? capture.mapped() : MemoryNumbers());
        return;
      }
      case OperationKind::capture_dependencies:
        needs_stream();
        while (!data.at_end()) {
          RecordedStep& node = take_step(data);
          const auto number = static_cast<std::uint32_t>(&node - to_.steps.data() + 1);
          if (node.stream == recording::none) throw_damaged(fmt::format("operation {} is not a node", number));
          node.is_awaited = true;
          step.nodes.push_back(number);
        }
        return;
      case OperationKind::child_graph:
        needs_stream();
        object("graph", graphs_.size());
        for (auto& [stream, used] : captures_) used.insert(graphs_[step.object].begin(), graphs_[step.object].end());
        return;
      case OperationKind::clone_graph:
        object("graph", graphs_.size());
        step.made = static_cast<std::uint32_t>(graphs_.size());
        graphs_.push_back(MemoryNumbers(graphs_[step.object]));
        return;
      case OperationKind::instantiate:
        object("graph", graphs_.size());
        step.made = static_cast<std::uint32_t>(execs_.size());
        execs_.push_back(graphs_[step.object]);
        return;
      case OperationKind::update_graph:
        object("executable graph", execs_.size());
        check_number("graph", step.other, graphs_.size());
        execs_[step.object].insert(graphs_[step.other].begin(), graphs_[step.other].end());
        return;
      case OperationKind::launch_graph:
        needs_stream();
        object("executable graph", execs_.size());
        for (const std::uint32_t used : execs_[step.object]) {
          Memory& kept = to_.memory[used];
          kept.is_kept |= kept.is_freed && !graph_memory_.contains(used);
        }
        return;
      case OperationKind::enable_peer_access:
        object("device", to_.devices.size());
        return check_number("device", step.other, to_.devices.size());
      default: throw_damaged(fmt::format("an operation has the kind {}", static_cast<int>(step.kind)));
    }
  }

  static bool is_launched_function(const RecordedStep& step) noexcept {
    return step.kind == OperationKind::host_function && step.stream != recording::none;
  }

  void take_work(RecordedStep& step, NumberReader& data) {
    detail::WorkReader(to_.work, *this).take(step, data, to_.kernels.size());
    if (step.kind == OperationKind::kernel) {
      for (std::uint32_t left = data.take_count(sizeof(recording::SavedAccess)); left > 0; --left) {
        const auto& access = step.accesses.emplace_back(data.take<recording::SavedAccess>());
        std::uint64_t rows = 0;
        (void)data.take_enumerator(static_cast<std::uint32_t>(access.kind), AccessKind::atomic);
        if (access.bytes == 0 || access.bytes > detail::most_bytes || access.rows == 0 ||
            __builtin_mul_overflow(access.rows - 1, access.pitch, &rows) || rows > detail::most_bytes)
          throw_damaged("an access is invalid");
        check(access.first, rows + access.bytes, false);
      }
    }
    if (step.kind != OperationKind::memory_operations) return;
    for (const detail::SavedMemoryOperation& one : part_of(to_.work.memory_operations, step.items)) {
      const auto kind = static_cast<MemoryOperation::Kind>(one.kind);
      if (kind == MemoryOperation::Kind::write_32 || kind == MemoryOperation::Kind::write_64)
        to_.written_values.emplace(one.address.memory, one.address.offset);
    }
  }

  void finish() {
    // Merges overlapping host memory, and keeps its alignment.
    constexpr std::uintptr_t alignment = 64;
    std::map<std::uintptr_t, std::uintptr_t> merged;
    for (const auto& [begin, last] : to_.host) {
      const std::uintptr_t first = begin / alignment * alignment;
      if (!merged.empty() && merged.rbegin()->second >= first) {
        merged.rbegin()->second = std::max(merged.rbegin()->second, last);
      } else {
        merged[first] = last;
      }
    }
    to_.host = std::move(merged);
    // An operation's input is recorded when the operation runs. If the input is missing, the recording ends there.
    for (std::size_t i = 0; i < to_.steps.size(); ++i) {
      const RecordedStep& step = to_.steps[i];
      if (step.reads.empty() || !step.contents.empty() || step.has_failed) continue;
      const std::string why = to_.end.empty() ? "the program ended before it ran" : to_.end;
      to_.end = fmt::format("the data that {} reads was not recorded: {}", step.name, why);
      to_.steps.resize(i);
    }
    if (to_.end.empty() && !to_.is_complete)
      to_.end = "the program did not end normally: it was killed or called _exit or abort, or the file is truncated";
  }

  Recording& to_;
  std::span<const std::byte> file_;
  using MemoryNumbers = std::set<std::uint32_t>;
  std::map<std::uint32_t, MemoryNumbers> captures_;  // by stream: the memory that was in use while its capture was open
  std::vector<MemoryNumbers> graphs_, execs_;
  MemoryNumbers graph_memory_;  // memory that was allocated in captures
};

Recording::Recording(std::span<const std::byte> file) { Reader(*this, file).read(); }

}  // namespace weir::tool
