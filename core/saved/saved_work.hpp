// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/saved/graph_file_format.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "weir/access.hpp"
#include "weir/module.hpp"
#include "weir/pitched_span.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/stream.hpp"
#include "weir/span.hpp"
#include "weir/stream.hpp"
#include "weir/unique_function.hpp"

/// Writes, reads and submits kernels, copies, fills, memory operations and conditional nodes. Graph files and recordings
/// (tools/record) share this code; each maps addresses in its own way.
namespace weir::detail {

// --- Writing ----------------------------------------------------------------------------------------------------------

/// Makes a `SavedBox` from the accesses of a copy or fill, one for each slice. `locate(address, bytes, what)` must return
/// the `SavedAddress` of memory; `what` names it in errors.
template <class Locate>
SavedBox saved_box(std::span<const MemoryAccess> slices, const char* what, const Locate& locate) {
  const auto number_of = [](const MemoryAccess& slice) { return reinterpret_cast<std::uintptr_t>(slice.address); };
  const MemoryAccess& first = slices.front();
  SavedBox box{{}, first.bytes, first.rows, slices.size(), first.rows > 1 || slices.size() > 1 ? first.pitch : first.bytes,
               0};
  if (box.depth > 1) box.slice_pitch = number_of(slices[1]) - number_of(first);
  const std::size_t bytes = (box.depth - 1) * box.slice_pitch + (box.height - 1) * box.row_pitch + box.width;
  box.first = locate(first.address, bytes, what);
  return box;
}

/// Writes copies, a fill, memory operations or a conditional node. The address that `locate` returns is written at once.
template <class Locate>
void put_work(NumberWriter& data, const Operation& operation, const Locate& locate) {
  const std::span<const MemoryAccess> accesses = operation.accesses;
  switch (operation.kind) {
    case OperationKind::fill:
      data.put(saved_box(accesses, "the destination", locate));
      data.put(operation.word_size);
      data.put(static_cast<std::uint32_t>(operation.element.size()));
      return data.append(operation.element);
    case OperationKind::memory_operations:
      data.put(static_cast<std::uint32_t>(operation.memory_operations.size()));
      for (const MemoryOperation& one : operation.memory_operations) {
        const SavedAddress address = one.address == nullptr
                                         ? SavedAddress{SavedAddress::null, 0, 0}
                                         : locate(one.address, std::size_t{one.is_64() ? 8U : 4U}, "the value");
        data.put(SavedMemoryOperation{address,
                                      one.value,
                                      static_cast<std::uint8_t>(one.kind),
                                      static_cast<std::uint8_t>(one.condition),
                                      static_cast<std::uint8_t>(one.remote_writes),
                                      {}});
      }
      return;
    case OperationKind::conditional:
      return data.put(SavedConditional{locate(accesses.front().address, 4, "the condition"),
                                       static_cast<std::uint32_t>(operation.conditional),
                                       static_cast<std::uint32_t>(operation.bodies)});
    default: {
      // A copy of a box lists the slices that it reads, then the slices that it writes. A batch lists a read and a write for
      // each copy.
      const bool is_box = accesses.size() > 2 && accesses[1].kind == AccessKind::read;
      const std::size_t copies = is_box ? 1 : accesses.size() / 2, slices = is_box ? accesses.size() / 2 : 1;
      data.put(static_cast<std::uint32_t>(copies));
      for (std::size_t i = 0; i < copies; ++i) {
        const std::span<const MemoryAccess> sides = accesses.subspan(2 * slices * i, 2 * slices);
        data.put(saved_box(sides.last(slices), "the destination", locate));
        data.put(saved_box(sides.first(slices), "the source", locate));
      }
    }
  }
}

/// Makes the fixed part of a saved launch, which the arguments follow.
inline SavedLaunch saved_launch(const Operation& operation, std::uint32_t kernel) {
  const LaunchConfig& config = *operation.config;
  return {.kernel = kernel,
          .grid = config.grid,
          .block = config.block,
          .cluster = config.cluster,
          .shared_memory = config.shared_memory_bytes,
          .priority = config.priority.value_or(0),
          .cooperative = config.cooperative,
          .programmatic = config.programmatic_stream_serialization,
          .has_priority = config.priority.has_value(),
          .reserved = 0,
          .arguments = static_cast<std::uint32_t>(operation.parameters.size())};
}

/// Whether a word may be an address: systems map no memory in the first 64 KiB, and a program's address space has 57 bits.
inline bool may_be_address(std::uintptr_t word) noexcept { return word >= 0x10000 && word >> 57U == 0; }

// --- Reading ----------------------------------------------------------------------------------------------------------

/// Reads numbers and bytes from the data of a record. Throws at its end, so it never reads outside of it.
class NumberReader {
 public:
  NumberReader(std::span<const std::byte> file, std::span<const std::byte> data, BundleReader::Throw* throw_error)
      : file_(file), data_(data), throw_error_(throw_error) {}

  template <class T>
  T take() {
    static_assert(std::has_unique_object_representations_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > data_.size()) throw_damaged("a record is too short");
    const auto taken = data_.first(size);
    data_ = data_.subspan(size);
    return taken;
  }
  bool at_end() const noexcept { return data_.empty(); }
  std::span<const std::byte> take_all() { return take(data_.size()); }
  /// Reads the number of elements that follow, of at least `least` bytes each. Throws if the record is too short for them.
  std::uint32_t take_count(std::size_t least) {
    const auto count = take<std::uint32_t>();
    if (count > data_.size() / least) throw_damaged("a record is too short");
    return count;
  }
  template <class E>
  E take_enumerator(std::uint32_t value, E last, E first = E{}) const {
    if (value < static_cast<std::uint32_t>(first) || value > static_cast<std::uint32_t>(last))
      throw_damaged(fmt::format("{} is not a valid kind", value));
    return static_cast<E>(value);
  }
  void end() const {
    if (!data_.empty()) throw_damaged("a record is too long");
  }
  [[noreturn]] void throw_damaged(const std::string& flaw) const {
    throw_error_(file_, "it is damaged: " + flaw);
    __builtin_unreachable();
  }

 private:
  std::span<const std::byte> file_, data_;
  BundleReader::Throw* throw_error_;
};

/// A kernel, copies, a fill, memory operations or a conditional node. A file may have many steps, so a step's arguments and
/// boxes are stored as ranges of lists for the whole file (`SavedWork`).
struct WorkStep {
  struct Range {
    std::uint32_t first = 0, count = 0;
  };

  OperationKind kind{};
  bool is_awaited = false;  // whether the number of the step's node is needed later
  Range items;  // a range of arguments, boxes (two for each copy) or memory operations
  std::uint32_t kernel = 0;
  LaunchConfig config;
  std::uint32_t word_size = 0;     // for a fill
  std::vector<std::byte> element;  // for a fill
  ConditionalKind conditional{};
  std::uint32_t bodies = 0;  // for a conditional node
  SavedAddress condition{};
};

struct SavedWork {
  struct alignas(16) Slot {
    std::byte bytes[16];
  };
  struct Argument {
    std::uint32_t size = 0, slot = 0;
    WorkStep::Range addresses;
  };
  /// An address inside an argument, at byte `offset`.
  struct Address {
    std::uint32_t offset = 0;
    SavedAddress address{};
  };

  std::vector<Argument> arguments;
  std::vector<Slot> slots;  // the values of all arguments
  std::vector<Address> addresses;
  std::vector<SavedBox> boxes;
  std::vector<SavedMemoryOperation> memory_operations;
};

/// The elements of a list that are in a range.
template <class T>
std::span<T> part_of(std::vector<T>& list, const WorkStep::Range& range) noexcept {
  return std::span(list).subspan(range.first, range.count);
}

/// The range of the next `count` elements that will be appended to a list.
template <class T>
WorkStep::Range next_in(const std::vector<T>& list, std::uint32_t count) noexcept {
  return {static_cast<std::uint32_t>(list.size()), count};
}

/// Reads the content of a step, whose kind is already set. `file.check(address, bytes, may_be_null)` must throw if the bytes
/// are not within a memory.
template <class File>
class WorkReader {
 public:
  WorkReader(SavedWork& work, File& file) : work_(work), file_(file) {}

  void take(WorkStep& step, NumberReader& data, std::size_t kernels) {
    switch (step.kind) {
      case OperationKind::kernel: return take_launch(step, data, kernels);
      case OperationKind::fill: return take_fill(step, data);
      case OperationKind::memory_operations: return take_memory_operations(step, data);
      case OperationKind::conditional: return take_conditional(step, data);
      default: return take_copies(step, data);
    }
  }

 private:
  void take_launch(WorkStep& step, NumberReader& data, std::size_t kernels) {
    const auto launch = data.take<SavedLaunch>();
    if (launch.kernel >= kernels) data.throw_damaged(fmt::format("there is no kernel {}", launch.kernel));
    step.kernel = launch.kernel;
    step.config = {.grid = launch.grid,
                   .block = launch.block,
                   .shared_memory_bytes = launch.shared_memory,
                   .cooperative = launch.cooperative != 0,
                   .programmatic_stream_serialization = launch.programmatic != 0,
                   .cluster = launch.cluster};
    if (launch.has_priority != 0) step.config.priority = launch.priority;
    step.items = next_in(work_.arguments, 0);
    for (std::uint32_t left = launch.arguments; left > 0; --left, ++step.items.count) take_argument(data);
  }

  void take_argument(NumberReader& data) {
    const auto size = data.take<std::uint32_t>(), addresses = data.take<std::uint32_t>();
    const WorkStep::Range list = next_in(work_.addresses, addresses);
    const auto slot = static_cast<std::uint32_t>(work_.slots.size());
    const bool is_address = addresses == 1 && size == sizeof(void*);
    const std::span<const std::byte> value = is_address ? std::span<const std::byte>() : data.take(size);
    for (std::uint32_t i = 0; i < addresses; ++i) {
      const auto offset = is_address ? 0 : data.take<std::uint32_t>();
      if (size < sizeof(void*) || offset > size - sizeof(void*))
        data.throw_damaged("an address does not fit into its argument");
      work_.addresses.push_back({offset, data.take<SavedAddress>()});
      file_.check(work_.addresses.back().address, 0, true);
    }
    work_.slots.resize(slot + size / sizeof(SavedWork::Slot) + 1);
    if (!value.empty()) std::memcpy(&work_.slots[slot], value.data(), value.size());
    work_.arguments.push_back({size, slot, list});
  }

  void take_copies(WorkStep& step, NumberReader& data) {
    step.items = next_in(work_.boxes, 2 * data.take_count(2 * sizeof(SavedBox)));
    if (step.items.count == 0) data.throw_damaged("a list of copies is empty");
    for (std::uint32_t left = step.items.count; left > 0; left -= 2) {
      const SavedBox to = take_box(data), from = take_box(data);
      if (to.width != from.width || to.height != from.height || to.depth != from.depth)
        data.throw_damaged("the two sides of a copy differ");
      work_.boxes.insert(work_.boxes.end(), {to, from});
    }
  }

  void take_fill(WorkStep& step, NumberReader& data) {
    const SavedBox box = take_box(data);
    step.items = next_in(work_.boxes, 1);
    work_.boxes.push_back(box);
    step.word_size = data.take<std::uint32_t>();
    const auto element = data.take(data.take<std::uint32_t>());
    step.element.assign(element.begin(), element.end());
    const bool has_word = step.word_size == 1 || step.word_size == 2 || step.word_size == 4;
    const bool is_box = box.height > 1 || box.depth > 1;
    if (!has_word || element.empty() || element.size() % step.word_size != 0 || box.width % element.size() != 0 ||
        (is_box && element.size() != step.word_size))
      data.throw_damaged("a fill is invalid");
  }

  void take_memory_operations(WorkStep& step, NumberReader& data) {
    step.items = next_in(work_.memory_operations, data.take_count(sizeof(SavedMemoryOperation)));
    if (step.items.count == 0) data.throw_damaged("a list of memory operations is empty");
    for (std::uint32_t left = step.items.count; left > 0; --left) {
      const auto& one = work_.memory_operations.emplace_back(data.take<SavedMemoryOperation>());
      const auto kind = data.take_enumerator(one.kind, MemoryOperation::Kind::flush_remote_writes);
      (void)data.take_enumerator(one.condition, WaitCondition::bit_nor);
      (void)data.take_enumerator(one.remote_writes, RemoteWrites::flush);
      const bool is_64 = kind == MemoryOperation::Kind::write_64 || kind == MemoryOperation::Kind::wait_64;
      const std::size_t size = is_64 ? 8 : 4;
      if (one.address.offset % size != 0) data.throw_damaged("a value is not aligned to its size");
      file_.check(one.address, size, kind == MemoryOperation::Kind::flush_remote_writes);
    }
  }

  void take_conditional(WorkStep& step, NumberReader& data) {
    const auto saved = data.take<SavedConditional>();
    step.conditional = data.take_enumerator(saved.kind, ConditionalKind::switch_case);
    step.bodies = saved.bodies;
    step.condition = saved.condition;
    const std::uint32_t most = step.conditional == ConditionalKind::switch_case  ? UINT32_MAX
                               : step.conditional == ConditionalKind::if_nonzero ? 2
                                                                                 : 1;
    if (step.bodies == 0 || step.bodies > most)
      data.throw_damaged(fmt::format("a conditional node has {} bodies", step.bodies));
    file_.check(step.condition, 4, false);
  }

  SavedBox take_box(NumberReader& data) const {
    const auto box = data.take<SavedBox>();
    std::uint64_t rows = 0, slices = 0;
    if (box.width == 0 || box.height == 0 || box.depth == 0 || box.width > most_bytes ||
        __builtin_mul_overflow(box.height - 1, box.row_pitch, &rows) || rows > most_bytes ||
        __builtin_mul_overflow(box.depth - 1, box.slice_pitch, &slices) || slices > most_bytes ||
        (box.height > 1 && box.row_pitch < box.width) ||
        (box.depth > 1 && (box.row_pitch < box.width || box.slice_pitch / box.row_pitch < box.height)))
      data.throw_damaged("a box is invalid");
    file_.check(box.first, box.width + rows + slices, false);
    return box;
  }

  SavedWork& work_;
  File& file_;
};

// --- Submitting -------------------------------------------------------------------------------------------------------

/// Submits steps to a stream. `memory.at(address)` must return the present address of saved memory.
template <class Memory>
class WorkSubmitter {
 public:
  WorkSubmitter(SavedWork& work, std::span<const KernelPtr> kernels, const Memory& memory)
      : work_(work), kernels_(kernels), memory_(memory) {}

  void submit(const WorkStep& step, Stream& stream) {
    switch (step.kind) {
      case OperationKind::kernel: return launch(step, stream);
      case OperationKind::copy:
        for (auto boxes = part_of(work_.boxes, step.items); !boxes.empty(); boxes = boxes.subspan(2)) {
          const SavedBox &to = boxes[0], &from = boxes[1];
          if (to.height == 1 && to.depth == 1) {
            stream.copy_bytes(memory_.at(to.first), memory_.at(from.first), to.width);
          } else {
            stream.copy(span_of<std::byte>(to), span_of<const std::byte>(from));
          }
        }
        return;
      case OperationKind::fill: return fill(step, stream);
      default: {
        std::vector<MemoryOperation> operations;
        for (const SavedMemoryOperation& one : part_of(work_.memory_operations, step.items)) {
          operations.push_back({static_cast<MemoryOperation::Kind>(one.kind), static_cast<WaitCondition>(one.condition),
                                static_cast<RemoteWrites>(one.remote_writes), memory_.at(one.address), one.value});
        }
        return make(operations, stream);
      }
    }
  }

  /// Captures a conditional node.
  void capture(const WorkStep& step, Stream& stream, std::span<UniqueFunction<void(Stream&)>> bodies) const {
    const auto* const condition = static_cast<const std::uint32_t*>(memory_.at(step.condition));
    if (step.conditional == ConditionalKind::switch_case) return stream.capture_switch(condition, bodies);
    if (step.conditional == ConditionalKind::while_nonzero) return stream.capture_while(condition, std::move(bodies[0]));
    if (bodies.size() == 1) return stream.capture_if(condition, std::move(bodies[0]));
    stream.capture_if(condition, std::move(bodies[0]), std::move(bodies[1]));
  }

 private:
  static void make(std::span<const MemoryOperation> operations, Stream& stream) {
    const MemoryOperation& first = operations.front();
    if (operations.size() != 1 || !(first.is_wait() || first.is_write())) return stream.batch_memory_operations(operations);
    auto* const word = static_cast<std::uint32_t*>(first.address);
    auto* const double_word = static_cast<std::uint64_t*>(first.address);
    const auto value = static_cast<std::uint32_t>(first.value);
    if (first.is_write())
      return first.is_64() ? stream.write_value(double_word, first.value) : stream.write_value(word, value);
    if (first.is_64()) return stream.wait_value(double_word, first.value, first.condition, first.remote_writes);
    stream.wait_value(word, value, first.condition, first.remote_writes);
  }

  void launch(const WorkStep& step, Stream& stream) {
    values_.clear();
    parameters_.clear();
    for (const SavedWork::Argument& argument : part_of(work_.arguments, step.items)) {
      auto* const value = reinterpret_cast<std::byte*>(&work_.slots[argument.slot]);
      const auto addresses = part_of(work_.addresses, argument.addresses);
      for (const auto& [offset, address] : addresses) {
        void* const pointer = memory_.at(address);
        std::memcpy(value + offset, &pointer, sizeof(pointer));
      }
      values_.push_back(value);
      const bool is_address = !addresses.empty() && argument.size == sizeof(void*);
      const auto kind = is_address          ? ParameterKind::address
                        : addresses.empty() ? ParameterKind::value
                                            : ParameterKind::unknown;
      parameters_.push_back({static_cast<std::uint32_t>(argument.size), kind});
    }
    stream.launch_raw(*kernels_[step.kernel], step.config, values_, parameters_);
  }

  void fill(const WorkStep& step, Stream& stream) const {
    const SavedBox& box = work_.boxes[step.items.first];
    const std::size_t size = step.element.size();
    if (box.height == 1 && box.depth == 1)
      return fill_pattern(stream, memory_.at(box.first), step.element.data(), size, step.word_size, box.width / size);
    std::uint32_t value = 0;
    std::memcpy(&value, step.element.data(), size);
    if (size == 1) return stream.fill(span_of<std::uint8_t>(box), static_cast<std::uint8_t>(value));
    if (size == 2) return stream.fill(span_of<std::uint16_t>(box), static_cast<std::uint16_t>(value));
    stream.fill(span_of<std::uint32_t>(box), value);
  }

  template <class T>
  PitchedSpan<T> span_of(const SavedBox& box) const {
    return {static_cast<T*>(memory_.at(box.first)),
            {box.width / sizeof(T), box.height, box.depth},
            box.row_pitch,
            box.slice_pitch};
  }

  SavedWork& work_;
  std::span<const KernelPtr> kernels_;
  const Memory& memory_;
  std::vector<void*> values_;  // the addresses of a launch's arguments; a member, so that its memory is reused
  std::vector<Parameter> parameters_;
};

}  // namespace weir::detail
