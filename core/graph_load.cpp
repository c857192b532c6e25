// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <system_error>

#include "core/abi_difference.hpp"
#include "core/call.hpp"
#include "core/file_descriptor.hpp"
#include "core/graph_content.hpp"
#include "weir/kernel_bundle.hpp"

// Device::load_graph: a file's bytes are checked once, here; what is left can be replayed at any address.
namespace weir::detail {

void throw_bad_graph(std::span<const std::byte> bytes, const std::string& flaw) {
  throw Error(Errc::invalid_image, "Device::load_graph", fmt::format("graph of {} bytes", bytes.size()), flaw);
}

namespace {

/// The numbers of a record, never beyond its end.
class NumberReader {
 public:
  NumberReader(std::span<const std::byte> file, std::span<const std::byte> data) : file_(file), data_(data) {}

  template <class T>
  T take() {
    static_assert(std::has_unique_object_representations_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> take(std::size_t size) {
    if (size > data_.size()) refuse("a record is too short");
    const auto taken = data_.first(size);
    data_ = data_.subspan(size);
    return taken;
  }
  /// How many things of at least `least` bytes follow.
  std::uint32_t take_count(std::size_t least) {
    const auto count = take<std::uint32_t>();
    if (count > data_.size() / least) refuse("a record is too short");
    return count;
  }
  template <class E>
  E take_enumerator(std::uint32_t value, E last, E first = E{}) const {
    if (value < static_cast<std::uint32_t>(first) || value > static_cast<std::uint32_t>(last))
      refuse(fmt::format("{} is not the number of any kind", value));
    return static_cast<E>(value);
  }
  void end() const {
    if (!data_.empty()) refuse("a record is too long");
  }
  [[noreturn]] void refuse(const std::string& flaw) const { throw_bad_graph(file_, "it is damaged: " + flaw); }

 private:
  std::span<const std::byte> file_, data_;
};

/// Takes a file apart, and loads its kernels.
class Loader {
 public:
  Loader(GraphContent& content, std::span<const std::byte> file)
      : content_(content),
        file_(file),
        reader_(file, graph_magic, graph_version, "it is no graph: it does not begin as Graph::save begins one",
                throw_bad_graph) {
    if (check_number(file.subspan(sizeof(BundleHeader))) != reader_.header.check)
      throw_bad_graph(file, "it is damaged: its check number is another one");
  }

  void load() { content_.steps = steps(0); }

 private:
  [[noreturn]] void refuse(const std::string& flaw) const { throw_bad_graph(file_, "it is damaged: " + flaw); }

  /// The steps up to the end of a nested graph, or of the file.
  std::vector<GraphStep> steps(std::size_t nesting) {
    if (nesting > most_graph_nesting) refuse("its graphs are nested too deep");
    std::vector<GraphStep> list;
    while (!reader_.at_end()) {
      reader_.next();
      if (reader_.kind == record::end) {
        if (nesting == 0) refuse("a nested graph ends that did not begin");
        finish(list);
        return list;
      }
      if (reader_.kind == record::begin) {
        if (list.empty() || (list.back().kind != SavedKind::child_graph && list.back().kind != SavedKind::conditional))
          refuse("a nested graph belongs to no node");
        list.back().inner.push_back(steps(nesting + 1));
      } else if (reader_.kind == record::operation) {
        list.push_back(step(list.size(), nesting));
      } else if (nesting == 0) {
        take_object();
      }
    }
    if (nesting != 0) refuse("a nested graph does not end");
    finish(list);
    return list;
  }

  void take_object() {
    NumberReader data(file_, reader_.data);
    if (reader_.kind == record::origin) {
      content_.from = reader_.name;
    } else if (reader_.kind == record::module) {
      content_.modules.push_back(content_.device.load(KernelBundle(reader_.data)));
    } else if (reader_.kind == record::function) {
      const auto module = data.take<std::uint32_t>();
      data.end();
      if (module >= content_.modules.size()) refuse(fmt::format("there is no module {}", module));
      content_.kernels.push_back(content_.modules[module]->untyped_kernel(reader_.name));
    } else if (reader_.kind == record::memory) {
      take_memory(data);
    }
  }

  void take_memory(NumberReader& data) {
    const auto saved = data.take<SavedMemory>();
    auto& memory = content_.memory.emplace_back();
    memory.name = reader_.name;
    memory.bytes = saved.bytes;
    memory.alignment = saved.alignment;
    memory.kind = data.take_enumerator(saved.kind, MemoryKind::managed);
    memory.role = data.take_enumerator(saved.role, MemoryRole::contents);
    if (memory.bytes == 0 || memory.bytes > most_bytes || !std::has_single_bit(saved.alignment) || saved.alignment > 256)
      refuse(fmt::format("memory '{}' has an impossible size or alignment", printable(memory.name)));
    if (memory.role == MemoryRole::contents) {
      const auto contents = data.take(memory.bytes);
      memory.contents.assign(contents.begin(), contents.end());
    }
    data.end();
  }

  // --- Steps ----------------------------------------------------------------------------------------------------------

  GraphStep step(std::size_t number, std::size_t nesting) {
    NumberReader data(file_, reader_.data);
    GraphStep step;
    step.kind = data.take_enumerator(data.take<std::uint8_t>(), SavedKind::conditional, SavedKind::kernel);
    step.after = next_in(content_.after, data.take_count(4));
    for (std::uint32_t left = step.after.count; left > 0; --left) {
      content_.after.push_back(data.take<std::uint32_t>());
      if (content_.after.back() >= number)
        refuse(fmt::format("operation {} comes behind {}", number, content_.after.back()));
    }
    switch (step.kind) {
      case SavedKind::kernel: take_launch(step, data); break;
      case SavedKind::copy:
        step.items = next_in(content_.boxes, 2 * data.take_count(2 * sizeof(SavedBox)));
        for (std::uint32_t left = step.items.count; left > 0; left -= 2) {
          const SavedBox to = take_box(data), from = take_box(data);
          if (to.width != from.width || to.height != from.height || to.depth != from.depth)
            refuse("the sides of a copy differ");
          content_.boxes.insert(content_.boxes.end(), {to, from});
        }
        break;
      case SavedKind::fill: take_fill(step, data); break;
      case SavedKind::memory_operations:
        step.items = next_in(content_.memory_operations, data.take_count(sizeof(SavedMemoryOperation)));
        for (std::uint32_t left = step.items.count; left > 0; --left) {
          const auto& one = content_.memory_operations.emplace_back(data.take<SavedMemoryOperation>());
          const auto kind = data.take_enumerator(one.kind, MemoryOperation::Kind::flush_remote_writes);
          (void)data.take_enumerator(one.condition, WaitCondition::bit_nor);
          (void)data.take_enumerator(one.remote_writes, RemoteWrites::flush);
          const bool is_64 = kind == MemoryOperation::Kind::write_64 || kind == MemoryOperation::Kind::wait_64;
          check(one.address, is_64 ? 8 : 4, kind == MemoryOperation::Kind::flush_remote_writes);
        }
        break;
      case SavedKind::host_function:
        step.function = reader_.name;
        if (step.function.empty()) refuse("a host function has no name");
        content_.functions.try_emplace(step.function);
        break;
      case SavedKind::allocate: {
        const auto bytes = data.take<std::uint64_t>();
        if (nesting != 0 || bytes == 0 || bytes > most_bytes) refuse("an allocation is impossible");
        step.allocation = static_cast<std::uint32_t>(content_.allocated.size());
        content_.allocated.push_back(bytes);
        break;
      }
      case SavedKind::free: {
        const auto memory = data.take<SavedAddress>();
        check(memory, 1, false);
        if (nesting != 0 || (memory.memory & SavedAddress::allocated) == 0) refuse("what is freed was not allocated");
        step.allocation = memory.memory & ~SavedAddress::allocated;
        break;
      }
      case SavedKind::conditional:
        step.conditional = data.take_enumerator(data.take<std::uint32_t>(), ConditionalKind::switch_case);
        step.inner_count = data.take<std::uint32_t>();
        if (step.inner_count == 0) refuse("a conditional node has no body");
        step.condition = data.take<SavedAddress>();
        check(step.condition, 4, false);
        break;
      case SavedKind::child_graph: step.inner_count = 1; break;
    }
    data.end();
    return step;
  }

  void take_launch(GraphStep& step, NumberReader& data) {
    const auto launch = data.take<SavedLaunch>();
    if (launch.kernel >= content_.kernels.size()) refuse(fmt::format("there is no kernel {}", launch.kernel));
    if (launch.arguments > reader_.data.size() / 8) refuse("a record is too short");
    step.kernel = content_.kernels[launch.kernel].get();
    const auto extent = [](const std::uint32_t(&from)[3]) { return Dim3(from[0], from[1], from[2]); };
    step.config = {.grid = extent(launch.grid),
                   .block = extent(launch.block),
                   .shared_memory_bytes = launch.shared_memory,
                   .cooperative = launch.cooperative != 0,
                   .programmatic_stream_serialization = launch.programmatic != 0,
                   .cluster = extent(launch.cluster)};
    if (launch.has_priority != 0) step.config.priority = launch.priority;
    step.items = next_in(content_.arguments, launch.arguments);
    for (std::uint32_t left = launch.arguments; left > 0; --left) {
      using Slot = GraphContent::Slot;
      auto& argument = content_.arguments.emplace_back();
      argument.size = data.take<std::uint32_t>();
      argument.is_address = data.take<std::uint32_t>() != 0;
      argument.slot = static_cast<std::uint32_t>(content_.slots.size());
      if (argument.is_address) {
        if (argument.size != sizeof(void*)) refuse("an address has another size");
        argument.address = data.take<SavedAddress>();
        check(argument.address, 0, true);
        content_.slots.emplace_back();
      } else {
        const auto value = data.take(argument.size);
        content_.slots.resize(argument.slot + argument.size / sizeof(Slot) + 1);
        if (!value.empty()) std::memcpy(&content_.slots[argument.slot], value.data(), value.size());
      }
    }
  }

  void take_fill(GraphStep& step, NumberReader& data) {
    const SavedBox box = take_box(data);
    step.items = next_in(content_.boxes, 1);
    content_.boxes.push_back(box);
    step.word_size = data.take<std::uint32_t>();
    const auto element = data.take(data.take<std::uint32_t>());
    step.element.assign(element.begin(), element.end());
    const bool has_word = step.word_size == 1 || step.word_size == 2 || step.word_size == 4;
    const bool is_box = box.height > 1 || box.depth > 1;
    if (!has_word || element.empty() || element.size() % step.word_size != 0 || box.width % element.size() != 0 ||
        (is_box && element.size() != step.word_size))
      refuse("a fill is impossible");
  }

  SavedBox take_box(NumberReader& data) const {
    const auto box = data.take<SavedBox>();
    std::uint64_t rows = 0, slices = 0;
    if (box.width == 0 || box.height == 0 || box.depth == 0 || box.width > most_bytes ||
        __builtin_mul_overflow(box.height - 1, box.row_pitch, &rows) || rows > most_bytes ||
        __builtin_mul_overflow(box.depth - 1, box.slice_pitch, &slices) || slices > most_bytes ||
        (box.height > 1 && box.row_pitch < box.width) ||
        (box.depth > 1 && (box.row_pitch < box.width || box.slice_pitch / box.row_pitch < box.height)))
      refuse("a box is impossible");
    check(box.first, box.width + rows + slices, false);
    return box;
  }

  /// Refuses what does not lie in a memory of the file.
  void check(const SavedAddress& address, std::uint64_t bytes, bool may_be_null) const {
    if (may_be_null && address.memory == SavedAddress::null) return;
    const std::uint32_t number = address.memory & ~SavedAddress::allocated;
    const bool own = number != address.memory;
    if (number >= (own ? content_.allocated.size() : content_.memory.size()))
      refuse(fmt::format("there is no memory {}", number));
    const std::uint64_t size = own ? content_.allocated[number] : content_.memory[number].bytes;
    if (address.offset > size || bytes > size - address.offset)
      refuse(fmt::format("{} bytes from byte {} are not within a memory of {}", bytes, address.offset, size));
  }

  /// Where the next `count` of a list will be.
  template <class T>
  static GraphStep::Range next_in(const std::vector<T>& list, std::uint32_t count) noexcept {
    return {static_cast<std::uint32_t>(list.size()), count};
  }

  /// What is known of a step once all are there.
  void finish(std::vector<GraphStep>& list) const {
    std::vector<bool> is_last(list.size(), true);
    for (std::size_t i = 0; i < list.size(); ++i) {
      GraphStep& step = list[i];
      if (step.inner.size() != step.inner_count) refuse("a nested graph is missing");
      const std::span<const std::uint32_t> after = part_of(content_.after, step.after);
      const bool follows = after.size() == 1 && after.front() + 1 == i;
      for (const std::uint32_t before : after) {
        is_last[before] = false;
        if (!follows) list[before].is_awaited = true;
      }
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (is_last[i]) list[i].is_awaited = true;
    }
  }

  GraphContent& content_;
  std::span<const std::byte> file_;
  BundleReader reader_;
};

}  // namespace
}  // namespace weir::detail

namespace weir {

PortableGraphPtr Device::load_graph(std::span<const std::byte> bytes) {
  const detail::Call call(*this, "Device::load_graph");
  call.require(Feature::graph_capture);
  auto content = std::make_unique<detail::GraphContent>(*this);
  detail::Loader(*content, bytes).load();
  return PortableGraphPtr(new PortableGraph(std::move(content)));
}

PortableGraphPtr Device::load_graph(const std::string& file) {
  const detail::Call call(*this, "Device::load_graph");
  const auto fail = [&](Errc code, const std::string& cause) { call.refuse(code, "'" + file + "' " + cause); };
  // O_NONBLOCK: to open a FIFO would wait for who writes into it.
  const detail::FileDescriptor in(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!in || ::fstat(in.number(), &status) != 0)
    fail(Errc::backend_failure, "cannot be read: " + std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) fail(Errc::invalid_image, "is no file of bytes");
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & 022U) != 0) {
    fail(Errc::invalid_image,
         fmt::format(
             "can be changed by others (owner {}, mode {:o}), and code would be loaded from it; make it your own, and "
             "chmod 600",
             status.st_uid, status.st_mode & 07777U));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > detail::most_graph_bytes)
    fail(Errc::invalid_image, fmt::format("has {} bytes, and a graph has at most {}", size, detail::most_graph_bytes));
  std::vector<std::byte> bytes(size);
  if (!in.read(bytes.data(), bytes.size())) fail(Errc::backend_failure, "cannot be read whole");
  return load_graph(bytes);
}

}  // namespace weir
