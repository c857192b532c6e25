// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <system_error>

#include "core/base/file_descriptor.hpp"
#include "core/runtime/call.hpp"
#include "core/runtime/impl.hpp"
#include "core/saved/captured_operations.hpp"
#include "core/saved/saved_work.hpp"
#include "weir/backend.hpp"
#include "weir/portable_graph.hpp"

// Graph::save: writes the operations of a portable capture to a file, with named memory and offsets instead of addresses.
namespace weir {

using detail::CapturedOperation;
using detail::CapturedOperations;
using detail::SavedAddress;
namespace record = detail::record;

NamedMemory::NamedMemory(std::string_view name, const void* data, std::size_t bytes, MemoryKind kind, MemoryRole role)
    : name_(name), data_(data), bytes_(bytes), kind_(kind), role_(role) {}

NamedMemory::NamedMemory(std::string_view name, AllocationRef memory, MemoryRole role)
    : NamedMemory(name, memory ? memory->data() : nullptr, memory ? memory->size_bytes() : 0,
                  memory ? memory->kind() : MemoryKind::device, role) {}

namespace {

using Address = std::uintptr_t;
Address number_of(const void* address) noexcept { return reinterpret_cast<Address>(address); }

class Saver {
 public:
  Saver(const Graph& graph, const detail::Call<Graph>& call, std::span<const NamedMemory> memory)
      : device_(graph.device()), call_(call) {
    writer_.add(record::origin, device_.backend().name() + " " + device_.properties().architecture, "");
    for (const NamedMemory& named : memory) add_memory(named);
  }

  std::vector<std::byte> file(const CapturedOperations& work) {
    add_operations(work, 0);
    const std::size_t bytes = writer_.records().size() + sizeof(detail::BundleHeader);
    if (bytes > detail::most_graph_bytes) {
      call_.throw_error(Errc::unsupported, fmt::format("the file would have {} bytes, but the limit is {}; save large "
                                                       "contents separately, and bind them after loading",
                                                       bytes, detail::most_graph_bytes));
    }
    return writer_.with_header(detail::graph_magic, detail::graph_version, detail::check_number(writer_.records()));
  }

 private:
  struct Range {
    Address end;
    std::uint32_t number;
  };

  // --- Memory ---------------------------------------------------------------------------------------------------------

  void add_memory(const NamedMemory& named) {
    const auto throw_error = [&](const std::string& cause) {
      call_.throw_error(Errc::invalid_argument, fmt::format("memory '{}' {}", named.name(), cause));
    };
    call_.check_enumerator("MemoryRole", named.role(), MemoryRole::contents);
    call_.check_enumerator("MemoryKind", named.kind(), MemoryKind::managed);
    if (named.name().empty() || named.name().find('\0') != std::string::npos) throw_error("has no valid name for binding");
    if (std::find(names_.begin(), names_.end(), named.name()) != names_.end()) throw_error("is listed twice");
    const Address begin = number_of(named.data()), end = begin + named.size_bytes();
    if (named.size_bytes() == 0 || begin == 0) throw_error("is empty");
    const auto next = memory_.lower_bound(begin);
    if ((next != memory_.end() && next->first < end) || (next != memory_.begin() && std::prev(next)->second.end > begin))
      throw_error("overlaps other memory; list overlapping memory as one piece");
    if (named.role() == MemoryRole::contents && named.size_bytes() > detail::most_graph_bytes)
      throw_error(fmt::format("has more contents than a file can store: {} bytes", detail::most_graph_bytes));
    memory_[begin] = {end, static_cast<std::uint32_t>(names_.size())};
    names_.push_back(named.name());
    detail::NumberWriter data;
    data.put(detail::SavedMemory{named.size_bytes(),
                                 static_cast<std::uint32_t>(std::min<Address>(begin & (~begin + 1), 256)),
                                 static_cast<std::uint8_t>(named.kind()), static_cast<std::uint8_t>(named.role()), 0});
    if (named.role() == MemoryRole::contents) {
      data.bytes.resize(data.bytes.size() + named.size_bytes());
      device_.copy_bytes(data.bytes.data() + sizeof(detail::SavedMemory), named.data(), named.size_bytes());
    }
    writer_.add(record::memory, named.name(), data.bytes);
  }

  /// Finds the memory that contains `bytes` bytes at `address`; nullopt if no single memory contains all of them.
  std::optional<SavedAddress> find(Address address, std::size_t bytes) const {
    // Begin with the newest allocation: it may have the address of an earlier one, which the graph has freed.
    for (auto own = allocated_.rbegin(); own != allocated_.rend(); ++own) {
      if (address >= own->begin && address < own->end && bytes <= own->end - address)
        return SavedAddress{SavedAddress::allocated | own->number, 0, address - own->begin};
    }
    const auto next = memory_.upper_bound(address);
    if (next == memory_.begin()) return std::nullopt;
    const auto& [begin, range] = *std::prev(next);
    if (address >= range.end || bytes > range.end - address) return std::nullopt;
    return SavedAddress{range.number, 0, address - begin};
  }

  /// Finds the memory of an address of the operation `at_`. Does not accept the address after the last byte of a memory: GPU
  /// allocations are often adjacent, so it may be the first byte of other memory that was not named.
  SavedAddress place_of(Address address, const CapturedOperation::Address& saved) const {
    if (const auto found = find(address, std::max<std::size_t>(saved.bytes, 1))) return *found;
    const bool is_argument = saved.argument != 0;
    throw_at_node(Errc::invalid_argument,
                  fmt::format("{}, {} bytes at {:#x}, is not in the named memory; add its memory to the call of `save`{}",
                              is_argument ? fmt::format("argument {}", saved.argument) : saved.what, saved.bytes, address,
                              is_argument ? "; pass a count instead of a pointer to the end" : ""));
  }

  // --- Kernels --------------------------------------------------------------------------------------------------------

  /// Returns the number of a kernel in the file. Writes the kernel and its module if the file does not have them yet.
  std::uint32_t kernel_number(const Kernel& kernel) {
    if (&kernel.device() != &device_) {
      throw_at_node(Errc::unsupported,
                    fmt::format("it runs on {}, but the graph belongs to {}; a saved graph can use only one device",
                                kernel.device().describe(), device_.describe()));
    }
    const auto [there, is_new] = kernels_.try_emplace(&kernel, static_cast<std::uint32_t>(kernels_.size()));
    if (!is_new) return there->second;
    const auto [module, is_new_module] =
        modules_.try_emplace(kernel.module().get(), static_cast<std::uint32_t>(modules_.size()));
    if (is_new_module) {
      if (kernel.module()->bundle().empty()) {
        throw_at_node(Errc::unsupported,
                      "its module has no bundle: it was loaded from an image (use Device::load with a bundle), or compiled "
                      "with include directories, whose files are not saved (use CompileOptions::headers)");
      }
      writer_.add(record::module, "", kernel.module()->bundle());
    }
    writer_.add(record::function, kernel.name(), std::as_bytes(std::span(&module->second, 1)));
    return there->second;
  }

  // --- Operations -----------------------------------------------------------------------------------------------------

  [[noreturn]] void throw_at_node(Errc code, const std::string& cause) const {
    const std::string kernel = at_->kernel ? fmt::format("kernel '{}'", at_->kernel->name()) : std::string(at_->name);
    call_.throw_error(code, fmt::format("node {} ({}): {}", at_->node, kernel, cause));
  }

  void add_operations(const CapturedOperations& work, std::size_t nesting) {
    if (!work.flaw.empty()) call_.throw_error(Errc::unsupported, work.flaw);
    if (nesting > detail::most_graph_nesting)
      call_.throw_error(Errc::unsupported,
                        fmt::format("graphs are nested more than {} levels deep", detail::most_graph_nesting));
    for (std::uint32_t i = 0; i < work.operations.size(); ++i) {
      const CapturedOperation& operation = work.operations[i];
      at_ = &operation;
      if (operation.node >= work.owners.size() || work.owners[operation.node] != i)
        throw_at_node(Errc::unsupported, "the driver does not report the nodes of this body");
      detail::NumberWriter data;
      data.put(operation.kind);
      data.put(static_cast<std::uint32_t>(operation.after.size()));
      for (const std::uint32_t node : operation.after) data.put(work.owners[node]);
      if ((operation.kind == OperationKind::allocate || operation.kind == OperationKind::free) && nesting != 0)
        throw_at_node(Errc::unsupported, "a nested graph cannot allocate");
      add_content(operation, data);
      writer_.add(record::operation, operation.function, data.bytes);
      for (const auto& inner : operation.inner) {
        writer_.add(record::begin, "", "");
        add_operations(CapturedOperations::of(*inner), nesting + 1);
        writer_.add(record::end, "", "");
      }
    }
  }

  void add_content(const CapturedOperation& operation, detail::NumberWriter& data) {
    if (operation.kind == OperationKind::host_function && operation.function.empty()) {
      throw_at_node(Errc::unsupported,
                    "the host function has no name, by which a loaded graph could find it; pass a name: "
                    "launch_host_function(function, {.name = …})");
    }
    const std::size_t first = data.bytes.size();
    data.append(operation.data);
    const std::span<std::byte> content = std::span(data.bytes).subspan(first);
    if (operation.kernel) put_at(content, offsetof(detail::SavedLaunch, kernel), kernel_number(*operation.kernel));
    if (operation.kind == OperationKind::allocate) {
      const Address begin = number_of(operation.allocated);
      allocated_.push_back(
          {begin, begin + number_at<std::uint64_t>(content, 0), static_cast<std::uint32_t>(allocated_.size())});
    }
    for (const CapturedOperation::Address& each : operation.addresses)
      put_at(content, each.at, place_of(number_at<SavedAddress>(content, each.at).offset, each));
    for (const CapturedOperation::Value& each : operation.values) check_value(each, content.subspan(each.at, each.bytes));
  }

  template <class T>
  static T number_at(std::span<const std::byte> bytes, std::size_t at) noexcept {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    return number;
  }
  template <class T>
  static void put_at(std::span<std::byte> bytes, std::size_t at, const T& number) noexcept {
    std::memcpy(bytes.data() + at, &number, sizeof(number));
  }

  /// Throws if an argument contains an address in named memory, or, if its type is unknown, a word that may be an address.
  void check_value(const CapturedOperation::Value& value, std::span<const std::byte> bytes) const {
    for (std::size_t at = 0; value.is_unknown && at + sizeof(Address) <= bytes.size(); at += sizeof(Address)) {
      if (!detail::may_be_address(number_at<Address>(bytes, at))) continue;
      throw_at_node(Errc::unsupported, fmt::format("argument {}, of {} bytes, may contain an address, but its type does not "
                                                   "show this; pass pointers as separate arguments (Stream::launch)",
                                                   value.argument, bytes.size()));
    }
    // Check every offset, because in a packed structure a pointer may be unaligned.
    for (std::size_t at = 0; at + sizeof(Address) <= bytes.size(); ++at) {
      if (!find(number_at<Address>(bytes, at), 1)) continue;
      throw_at_node(
          Errc::unsupported,
          fmt::format("argument {} contains an address in named memory as a number, at byte {}; pass it as a pointer",
                      value.argument, at));
    }
  }

  struct Allocated {
    Address begin, end;
    std::uint32_t number;
  };

  Device& device_;
  const detail::Call<Graph>& call_;
  detail::BundleWriter writer_;
  std::vector<std::string> names_;
  std::map<Address, Range> memory_;   // by first address
  std::vector<Allocated> allocated_;  // the allocations of the operations that were written so far, in their order
  std::map<const Module*, std::uint32_t> modules_;
  std::map<const Kernel*, std::uint32_t> kernels_;
  const CapturedOperation* at_ = nullptr;
};

}  // namespace

std::vector<std::byte> Graph::saved(std::span<const NamedMemory> memory) const {
  const detail::Call call(*this, "Graph::save");
  call.check_not_continued(*this);
  if (captured_work_ == nullptr) {
    call.throw_error(
        Errc::unsupported,
        "it was not captured as portable; pass CaptureOptions{.portable = true} to begin_capture or GraphBuilder");
  }
  const CapturedOperations& work = CapturedOperations::of(*captured_work_);
  if (work.flaw.empty() && detail::impl(*this).do_node_count() != work.owners.size())
    call.throw_error(Errc::unsupported, "other code has changed it since it was captured");
  return Saver(*this, call, memory).file(work);
}

void Graph::save(const std::string& file, std::initializer_list<NamedMemory> memory) const {
  save(file, std::span(memory.begin(), memory.size()));
}

void Graph::save(const std::string& file, std::span<const NamedMemory> memory) const {
  const std::vector<std::byte> bytes = saved(memory);
  const auto fail = [&](const std::string& what) {
    throw Error(Errc::backend_failure, "Graph::save", describe(),
                what + ": " + std::generic_category().message(errno) + "; choose a file in a writable folder");
  };
  struct stat there {};
  if (::stat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    throw Error(Errc::invalid_argument, "Graph::save", describe(),
                "'" + file + "' exists and is not a regular file; choose another name");
  }
  // Write a temporary file and rename it, so that no other process can read an incomplete file.
  std::string unfinished = file + ".XXXXXX";
  detail::FileDescriptor out(::mkostemp(unfinished.data(), O_CLOEXEC));  // creates the file with mode 0600
  if (!out) fail("no temporary file can be created next to '" + file + "'");
  if (!out.write(bytes.data(), bytes.size()) || !out.close() || ::rename(unfinished.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    errno = error;
    fail("'" + file + "' cannot be written");
  }
}

}  // namespace weir
