// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "../readable_name.hpp"
#include "commands.hpp"
#include "core/base/error_text.hpp"
#include "core/base/private_file.hpp"
#include "core/saved/saved_work.hpp"
#include "recording.hpp"
#include "weir/annotation.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/graph.hpp"
#include "weir/kernel_bundle.hpp"
#include "weir/plugin/caller.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/registry.hpp"
#include "weir/result.hpp"
#include "weir/stream.hpp"

namespace weir::tool {
namespace {

using detail::SavedAddress;
using detail::SavedMemoryOperation;
using recording::none;
using recording::SavedRange;

constexpr int all_equal = 0, differs = 1, unusable = 2, incomplete = 3;
constexpr std::size_t most_told = 10;

class RecordingReplay {
 public:
  RecordingReplay(Recording& recording, std::string file) : recording_(recording), file_(std::move(file)) {
    const Backend& backend = default_device().backend();
    for (const std::string& name : recording.devices) {
      const auto number = static_cast<int>(devices_.size());
      if (number >= backend.device_count()) {
        throw Error(Errc::wrong_device, "weir replay", name,
                    fmt::format("the recording has {} devices, but {} has {}; with --backend=host set WEIR_HOST_DEVICES",
                                recording.devices.size(), backend.name(), backend.device_count()));
      }
      devices_.push_back(&backend.device(number));
    }
    if (devices_.empty() && !recording.host.empty())
      throw Error(Errc::invalid_image, "weir replay", file_, "it has no device");
    for (const auto& [begin, end] : recording.host) {
      // The memory is pinned, so that a host function after a copy sees the copied data.
      const std::size_t bytes = std::max<std::size_t>(end - begin, 1);
      AllocationPtr memory = devices_.front()->allocate_bytes(bytes, MemoryKind::pinned);
      std::memset(memory->data(), 0, bytes);
      host_[begin] = {end, std::move(memory)};
    }
    for (const Recording::Module& module : recording.modules)
      modules_.push_back(devices_[module.device]->load(KernelBundle(module.bundle)));
    for (const Recording::Kernel& kernel : recording.kernels)
      kernels_.push_back(modules_[kernel.module]->untyped_kernel(kernel.name));
    memory_.resize(recording.memory.size());
    streams_.resize(recording.streams.size());
    events_.resize(recording.events.size());
    nodes_.resize(recording.steps.size());
    results_.resize(recording.steps.size());
  }

  int run() {
    submitter_.emplace(recording_.work, kernels_, *this);
    std::string failure;
    try {
      for (; made_ < recording_.steps.size(); ++made_) {
        const RecordedStep& step = recording_.steps[made_];
        if (step.has_failed) continue;  // the operation was refused in the recording
        const auto number = static_cast<std::uint32_t>(made_ + 1);
        const CallerScope scope(frame_of(step, number));
        make(step, number);
      }
    } catch (const std::exception& error) {
      failure = fmt::format("operation {} ({}) failed: {}", made_ + 1, what_of(recording_.steps[made_]), error.what());
      const auto* const of_weir = dynamic_cast<const Error*>(&error);
      is_lack_ = of_weir != nullptr && (of_weir->errc() == Errc::unsupported || of_weir->errc() == Errc::invalid_image);
    }
    for (const StreamPtr& stream : streams_) {  // end captures that did not end in the recording
      if (stream && stream->is_capturing()) (void)attempt([&] { stream->close(); });
    }
    for (const StreamPtr& stream : streams_) {
      try {
        if (stream && !stream->is_closed()) stream->synchronize();
      } catch (const std::exception& error) {
        if (failure.empty()) failure = error.what();
      }
    }
    return tell(made_, failure);
  }

  void* at(const SavedAddress& address) const {
    if (address.memory == SavedAddress::null) return nullptr;
    if (address.memory == recording::of_host) {
      const auto& [begin, memory] = *std::prev(host_.upper_bound(address.offset));
      return static_cast<std::byte*>(memory.owner->data()) + (address.offset - begin);
    }
    void* const data = memory_[address.memory].data;
    if (data == nullptr)
      throw_damaged(fmt::format("memory {} is used before its allocation or after its free", address.memory));
    return static_cast<std::byte*>(data) + address.offset;
  }

 private:
  struct HostMemory {
    std::uintptr_t end = 0;
    AllocationPtr owner;
  };
  struct Memory {
    AllocationPtr owner;
    void* data = nullptr;
  };

  std::string what_of(const RecordedStep& step) const {
    if (step.kind == OperationKind::kernel)
      return fmt::format("kernel '{}'", detail::escaped(readable_name(recording_.kernels[step.kernel].name)));
    if (step.kind == OperationKind::host_function)
      return step.name.empty() ? "host function" : fmt::format("host function '{}'", detail::escaped(step.name));
    return detail::escaped(step.name);
  }

  /// Returns a stack frame, which tools show as the place of the operation in a program.
  std::span<const SourceFrame> frame_of(const RecordedStep& step, std::uint32_t number) {
    if (!Tools::any()) return {};
    const std::string& name = names_.emplace_back(fmt::format("operation {}: {}", number, what_of(step)));
    return {&frames_.emplace_back(SourceFrame{name, file_, static_cast<int>(number)}), 1};
  }

  // --- Objects --------------------------------------------------------------------------------------------------------

  Stream& stream_of(std::uint32_t number) {
    StreamPtr& stream = streams_[number];
    if (stream) return *stream;
    const auto& [saved, name] = recording_.streams[number];
    Device& device = *devices_[saved.device];
    const PriorityRange range = device.priority_range();
    const int priority = std::clamp(saved.priority, range.greatest, range.least);
    stream = saved.is_default != 0 ? device.default_stream()
                                   : device.create_stream({.blocking = saved.is_blocking != 0, .priority = priority});
    if (!name.empty() && saved.is_default == 0) stream->set_name(name);
    return *stream;
  }

  Event& event_of(std::uint32_t number) {
    const auto [device, timing] = recording_.events[number];
    if (!events_[number]) events_[number] = devices_[device]->create_event({.timing = timing});
    return *events_[number];
  }

  template <class T>
  T& there(const std::vector<Ptr<T>>& list, std::uint32_t number, const char* what) const {
    if (number >= list.size() || !list[number])
      throw_damaged(fmt::format("{} {} does not exist at this point", what, number));
    return *list[number];
  }

  [[noreturn]] void throw_damaged(const std::string& flaw) const {
    throw Error(Errc::invalid_image, "weir replay", file_, "it is damaged: " + flaw);
  }

  // --- Operations -----------------------------------------------------------------------------------------------------

  void make(const RecordedStep& step, std::uint32_t number) {
    Stream* const stream = step.stream != none ? &stream_of(step.stream) : nullptr;
    const auto on_stream = [&](auto function) {
      if (stream != nullptr) return stream->launch_host_function(std::move(function));
      function();
    };
    if (!step.reads.empty()) on_stream([this, &step, to = memory_of(step.reads)] { restore(step, to); });
    submit(step, number, stream);
    if (step.is_awaited) nodes_[number - 1] = stream->last_captured_node();
    if (!step.results.empty() && step.kind != OperationKind::host_access) {
      results_[number - 1].resize(step.checks.size());
      if (!step.checks.empty())
        on_stream([this, &step, number, from = memory_of(step.results)] { check(step, from, results_[number - 1]); });
    }
  }

  void submit(const RecordedStep& step, std::uint32_t number, Stream* stream) {
    switch (step.kind) {
      case OperationKind::kernel: declare(step); return submitter_->submit(step, *stream);
      case OperationKind::copy:
      case OperationKind::fill: return submitter_->submit(step, *stream);
      case OperationKind::memory_operations: free_waits(step, *stream); return submitter_->submit(step, *stream);
      case OperationKind::host_copy: return copy(step);
      case OperationKind::host_function:
        if (stream == nullptr) return wait_for_run(step.object);
        return stream->launch_host_function([&runs = runs_[number]] { ++runs; }, {.name = step.name});
      case OperationKind::allocate: return allocate(step, stream);
      case OperationKind::module_global: {
        const Span<std::byte> variable = modules_[step.object]->global(step.name);
        if (variable.size() < recording_.memory[step.made].bytes)
          throw_damaged("variable '" + step.name + "' is smaller than in the recording");
        memory_[step.made].data = variable.data();
        return;
      }
      case OperationKind::free:
        if (!recording_.memory[step.object].is_kept) memory_[step.object] = {};
        return;
      case OperationKind::child_graph: return stream->add_child_graph(there(graphs_, step.object, "graph"));
      case OperationKind::record:
        return step.other == 1 ? stream->record_external(event_of(step.object)) : stream->record(event_of(step.object));
      case OperationKind::wait_event:
        return step.other == 1 ? stream->wait_external(event_of(step.object)) : stream->wait(event_of(step.object));
      case OperationKind::wait_stream: return stream->wait(stream_of(step.object));
      case OperationKind::synchronize:
        if (stream != nullptr) return stream->synchronize();
        return step.object != none ? event_of(step.object).synchronize() : devices_[step.other]->synchronize();
      case OperationKind::host_access: {
        const SavedRange& range = step.results.front();
        if (const Memory& memory = memory_[range.first.memory]; memory.owner)
          detail::note_host_access(*memory.owner, at(range.first), range.bytes);
        return;
      }
      case OperationKind::begin_capture:
        if (step.object != none) return stream->resume_capture(there(graphs_, step.object, "graph"), CaptureMode::relaxed);
        return stream->begin_capture(CaptureMode::relaxed);
      case OperationKind::end_capture:
        if (step.other == 1) return add(graphs_, step, stream->end_capture());
        return stream->discard_capture();
      case OperationKind::capture_dependencies: {
        std::vector<GraphNode> nodes;
        for (const std::uint32_t each : step.nodes) {
          if (!nodes_[each - 1]) throw_damaged(fmt::format("operation {} is not a node", each));
          nodes.push_back(*nodes_[each - 1]);
        }
        return stream->set_capture_dependencies(nodes);
      }
      case OperationKind::clone_graph: return add(graphs_, step, there(graphs_, step.object, "graph").clone());
      case OperationKind::instantiate: return add(execs_, step, there(graphs_, step.object, "graph").instantiate());
      case OperationKind::update_graph:
        return there(execs_, step.object, "executable graph").update(there(graphs_, step.other, "graph"));
      case OperationKind::launch_graph: return there(execs_, step.object, "executable graph").launch(*stream);
      case OperationKind::enable_peer_access:
        if (Device& device = *devices_[step.object]; device.can_access_peer(*devices_[step.other]))
          device.enable_peer_access(*devices_[step.other]);
        return;
      default: return;  // the reader refuses other kinds
    }
  }

  /// Waits until a host function has run as often as in the recording so far. Throws if no stream has work left, because the
  /// function can then not run.
  void wait_for_run(std::uint32_t function) {
    const std::uint32_t wanted = ++ran_[function];
    const std::atomic<std::uint32_t>& runs = runs_[function];
    while (runs < wanted) {
      const bool is_idle = std::all_of(streams_.begin(), streams_.end(), [](const StreamPtr& stream) {
        return !stream || stream->is_capturing() || stream->is_complete();
      });
      if (is_idle && runs < wanted)
        throw_damaged(fmt::format("host function {} has run more often than it was launched", function));
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  /// Reports a kernel's accesses to tools: those in the recording, refined by the facts about the kernel on this device.
  void declare(const RecordedStep& step) {
    if (!Tools::any()) return;
    const auto arguments = part_of(recording_.work.arguments, step.items);
    std::vector<MemoryAccess> accesses;
    for (const recording::SavedAccess& saved : step.accesses) {
      MemoryAccess& access = accesses.emplace_back(
          MemoryAccess{at(saved.first), saved.bytes, static_cast<AccessKind>(saved.kind), saved.pitch, saved.rows});
      std::size_t parameter = 0, parameters = 0;  // the last parameter with this address, and the number of such parameters
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        for (const auto& one : part_of(recording_.work.addresses, arguments[i].addresses)) {
          if (at(one.address) != access.address) continue;
          parameter = i;
          ++parameters;
        }
      }
      if (parameters == 1) access = detail::known_access(*kernels_[step.kernel], parameter, access);
    }
    detail::declare_touches(accesses);
  }

  template <class T>
  static void add(std::vector<Ptr<T>>& list, const RecordedStep& step, Ptr<T> object) {
    list.resize(std::max<std::size_t>(list.size(), step.made + 1));
    list[step.made] = std::move(object);
  }

  void allocate(const RecordedStep& step, Stream* stream) {
    const std::uint64_t bytes = recording_.memory[step.made].bytes;
    Memory& memory = memory_[step.made];
    memory.owner = stream != nullptr ? stream->allocate_bytes_async(bytes)
                                     : devices_[step.object]->allocate_bytes(bytes, recording_.memory[step.made].kind);
    memory.data = memory.owner->data();
  }

  void copy(const RecordedStep& step) {
    const auto boxes = part_of(recording_.work.boxes, step.items);
    devices_[step.other]->copy_bytes(at(boxes[0].first), at(boxes[1].first), boxes[0].width);
  }

  /// Writes the values that `step` waits for and that no stream writes. In the recorded run a store by the host ended such
  /// waits, and stores are not recorded.
  void free_waits(const RecordedStep& step, Stream& stream) {
    for (const SavedMemoryOperation& one : part_of(recording_.work.memory_operations, step.items)) {
      const auto kind = static_cast<MemoryOperation::Kind>(one.kind);
      const bool is_32 = kind == MemoryOperation::Kind::wait_32;
      if ((!is_32 && kind != MemoryOperation::Kind::wait_64) || !is_of_host(one.address)) continue;
      if (recording_.written_values.contains({one.address.memory, one.address.offset})) continue;
      const bool is_nor = static_cast<WaitCondition>(one.condition) == WaitCondition::bit_nor;
      const auto write = [to = at(one.address), owner = owner_of(one.address), is_32,
                          value = is_nor ? ~one.value : one.value] {
        if (is_32) {
          std::atomic_ref(*static_cast<std::uint32_t*>(to)).store(static_cast<std::uint32_t>(value));
        } else {
          std::atomic_ref(*static_cast<std::uint64_t*>(to)).store(value);
        }
      };
      step.is_captured ? write() : stream.launch_host_function(write);
    }
  }

  bool is_of_host(const SavedAddress& address) const {
    return address.memory == recording::of_host || recording_.memory[address.memory].kind != MemoryKind::device;
  }

  // --- The host's memory ----------------------------------------------------------------------------------------------

  /// Memory that a host function reads or writes later. The owner keeps it alive until then.
  struct OwnedMemory {
    std::byte* first;
    AllocationPtr owner;
  };

  AllocationPtr owner_of(const SavedAddress& address) const {
    return address.memory == recording::of_host ? nullptr : memory_[address.memory].owner;
  }

  std::vector<OwnedMemory> memory_of(const std::vector<SavedRange>& ranges) const {
    std::vector<OwnedMemory> memory;
    for (const SavedRange& range : ranges) {
      if (!is_of_host(range.first)) throw_damaged("the host cannot access a device's memory");
      memory.push_back({static_cast<std::byte*>(at(range.first)), owner_of(range.first)});
    }
    return memory;
  }

  void restore(const RecordedStep& step, const std::vector<OwnedMemory>& to) const {
    auto next = step.contents.begin();
    for (std::size_t i = 0; i < to.size(); ++i) {
      recording::for_each_piece(step.reads[i], [&](std::size_t at, std::size_t size) {
        const std::span<const std::byte> piece = recording_.pieces[*next++];
        // Do not write equal bytes again, because other work may be reading them.
        if (std::memcmp(to[i].first + at, piece.data(), size) != 0) std::memcpy(to[i].first + at, piece.data(), size);
      });
    }
  }

  static void check(const RecordedStep& step, const std::vector<OwnedMemory>& from, std::vector<std::uint64_t>& checks) {
    auto next = checks.begin();
    for (std::size_t i = 0; i < from.size(); ++i) {
      recording::for_each_piece(step.results[i], [&](std::size_t at, std::size_t size) {
        *next++ = recording::check_of(std::span(from[i].first + at, size));
      });
    }
  }

  // --- The answer -----------------------------------------------------------------------------------------------------

  int tell(std::size_t made, const std::string& failure) const {
    std::size_t known = 0, equal = 0, told = 0;
    std::string text;
    for (std::size_t i = 0; i < made; ++i) {
      const RecordedStep& step = recording_.steps[i];
      if (step.checks.empty() || results_[i].empty()) continue;
      ++known;
      if (step.checks == results_[i]) {
        ++equal;
      } else if (told++ < most_told) {
        text += difference(step, i);
      }
    }
    if (told > most_told) text += fmt::format("  and {} more\n", told - most_told);
    const auto used = std::count_if(streams_.begin(), streams_.end(), [](const StreamPtr& stream) { return bool(stream); });
    std::printf("weir replay: %zu operation%s on %td stream%s; %zu of %zu results are equal to the recording\n", made,
                made == 1 ? "" : "s", used, used == 1 ? "" : "s", equal, known);
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    for (const std::string& note : recording_.notes)
      std::fprintf(stderr, "weir replay: missing: %s\n", detail::escaped(note).c_str());
    if (!recording_.end.empty())
      std::fprintf(stderr, "weir replay: the recording ends: %s\n", detail::escaped(recording_.end).c_str());
    if (!failure.empty()) std::fprintf(stderr, "weir replay: %s\n", failure.c_str());
    if (is_lack_) return unusable;
    if (equal != known || !failure.empty()) return differs;
    return recording_.is_complete ? all_equal : incomplete;
  }

  std::string difference(const RecordedStep& step, std::size_t i) const {
    std::size_t next = 0, pieces = 0, first = 0, size = 0;
    std::uint64_t bytes = 0, before = 0;
    for (const SavedRange& range : step.results) {
      recording::for_each_piece(range, [&](std::size_t at, std::size_t length) {
        if (step.checks[next] != results_[i][next] && pieces++ == 0) {
          first = before + at;
          size = length;
        }
        ++next;
      });
      before = bytes += range.bytes;
    }
    return fmt::format("  operation {}, {} on stream {}: {} of {} pieces differ, first bytes {} to {} of {}\n", i + 1,
                       what_of(step), step.stream == none ? 0 : step.stream + 1, pieces, next, first, first + size - 1,
                       bytes);
  }

  Recording& recording_;
  const std::string file_;
  std::vector<Device*> devices_;
  std::map<std::uintptr_t, HostMemory> host_;
  std::vector<ModulePtr> modules_;
  std::vector<KernelPtr> kernels_;
  std::vector<Memory> memory_;
  std::vector<EventPtr> events_;
  std::vector<GraphPtr> graphs_;
  std::vector<GraphExecPtr> execs_;
  std::vector<std::optional<GraphNode>> nodes_;               // by operation
  std::map<std::uint32_t, std::atomic<std::uint32_t>> runs_;  // by operation: how often its host function ran in the replay
  std::map<std::uint32_t, std::uint32_t> ran_;                // by operation: how often it ran in the recording so far
  std::vector<std::vector<std::uint64_t>> results_;
  std::deque<std::string> names_;
  std::deque<SourceFrame> frames_;
  std::vector<StreamPtr> streams_;
  std::size_t made_ = 0;  // index of the current operation
  bool is_lack_ = false;  // whether an error means that this device or file cannot be used
  std::optional<detail::WorkSubmitter<RecordingReplay>> submitter_;
};

}  // namespace

int replay_recording(const std::string& file) try {
  const auto fail = [](Errc code, const std::string& cause) { throw Error(code, "weir replay", "", cause); };
  const std::vector<std::byte> bytes = detail::read_private_file(file, recording::most_bytes, "a recording", fail);
  Recording recording(bytes);
  return RecordingReplay(recording, file).run();
} catch (const Error& error) {
  const bool is_of_file = error.operation() == "weir replay";
  const std::string what = is_of_file ? error.detail() : error.what(), name = "'" + file + "'";
  std::fprintf(stderr, "weir replay: %s%s\n", what.starts_with(name) ? "" : (name + ": ").c_str(), what.c_str());
  return unusable;
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir replay: '%s': %s\n", file.c_str(), error.what());
  return unusable;
}

}  // namespace weir::tool
