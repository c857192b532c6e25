// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <stdexcept>

#include "tests/c/conformance/through_c.hpp"

// Devices, memory, modules and kernels over the C interface.
namespace through_c {

weir::Errc errc_of(weir_result result) {
  const std::string_view name = weir_result_name(result);
  for (int i = 1; i <= static_cast<int>(weir::Errc::communicator_failed); ++i) {
    if (to_string(static_cast<weir::Errc>(i)) == name) return static_cast<weir::Errc>(i);
  }
  throw std::logic_error("the result " + std::to_string(static_cast<unsigned>(result)) + " has no code in C++");
}

void need(weir_result result) {
  if (result == WEIR_SUCCESS) return;
  weir_error error = sized<weir_error>();
  weir_last_error(&error);
  if (result == WEIR_ERROR_UNKNOWN) throw std::runtime_error(error.detail);
  throw weir::Error(errc_of(result), error.operation, error.object, error.detail,
                    {error.native_code, error.native_name, error.native_message});
}

namespace {

weir_text_pair pair_of(const std::pair<std::string, std::string>& texts) {
  return {texts.first.c_str(), texts.second.c_str()};
}
const char* characters_of(const std::string& text) { return text.c_str(); }

/// Options in C, and what they point to.
struct Compilation {
  explicit Compilation(const weir::CompileOptions& options) {
    const auto list = [](const auto& all, auto& out, auto convert, auto*& first, size_t& count) {
      for (const auto& one : all) out.push_back(convert(one));
      first = out.data();
      count = out.size();
    };
    c.name = options.name.c_str();
    list(options.defines, defines, pair_of, c.defines, c.define_count);
    list(options.headers, headers, pair_of, c.headers, c.header_count);
    list(options.include_directories, folders, characters_of, c.include_directories, c.include_directory_count);
    list(options.kernels, kernels, characters_of, c.kernels, c.kernel_count);
    list(options.extra, extra, characters_of, c.extra, c.extra_count);
    c.cxx_standard = options.cxx_standard;
    c.flags = (options.fast_math ? WEIR_COMPILE_FAST_MATH : 0U) | (options.debug ? WEIR_COMPILE_DEBUG : 0U);
  }
  weir_compile_options c = sized<weir_compile_options>();
  std::vector<weir_text_pair> defines, headers;
  std::vector<const char*> folders, kernels, extra;
};

}  // namespace
}  // namespace through_c

namespace weir {

using namespace through_c;

// --- Devices ------------------------------------------------------------------------------------------------------------

void Device::require(std::initializer_list<Feature> features) const {
  std::vector<weir_feature> all;
  for (const Feature feature : features) {
    all.push_back(told<weir_feature>(weir_feature_parse, to_string(feature).data()));
  }
  call(weir_device_require, *this, all.data(), all.size());
}

StreamPtr Device::create_stream(const StreamOptions& options) {
  weir_stream_options c = sized<weir_stream_options>();
  c.flags = options.blocking ? WEIR_STREAM_BLOCKING : WEIR_STREAM_NON_BLOCKING;
  if (const int* const number = std::get_if<int>(&options.priority)) {
    c.priority = WEIR_PRIORITY_NUMBER;
    c.priority_number = *number;
  } else {
    const Priority level = std::get<Priority>(options.priority);
    c.priority = level == Priority::normal ? WEIR_PRIORITY_NORMAL
                 : level == Priority::low  ? WEIR_PRIORITY_LOW
                 : level == Priority::high ? WEIR_PRIORITY_HIGH
                                           : static_cast<weir_priority>(99);
  }
  return made<Stream>(weir_stream_create, *this, &c);
}
StreamPtr Device::default_stream() { return made<Stream>(weir_stream_get_default, *this); }
StreamPtr Device::per_thread_stream() { return made<Stream>(weir_stream_get_per_thread, *this); }
StreamPtr Device::wrap_stream(void* native, Ownership ownership, std::shared_ptr<const void> keep_alive) {
  using Kept = std::shared_ptr<const void>;
  void (*destroy)(void*) = keep_alive ? +[](void* kept) { delete static_cast<Kept*>(kept); } : nullptr;
  void* const kept = keep_alive ? new Kept(std::move(keep_alive)) : nullptr;
  return made<Stream>(weir_stream_wrap, *this, native, ownership, destroy, kept);
}
PriorityRange Device::priority_range() const {
  PriorityRange range;
  call(weir_device_priority_range, *this, &range.least, &range.greatest);
  return range;
}

EventPtr Device::create_event(const EventOptions& options) {
  return made<Event>(weir_event_create, *this, flags_of(options));
}
EventPtr Device::open_event(const InterprocessHandle& bytes) {
  const auto c = closed(bytes);
  return made<Event>(weir_event_open, *this, &c);
}

void Device::synchronize() { call(weir_device_synchronize, *this); }
bool Device::synchronize_for(Timeout timeout) {
  return told<bool>(weir_device_synchronize_for, *this, timeout.nanoseconds().count());
}
bool Device::can_access_peer(const Device& peer) const { return told<bool>(weir_device_can_access_peer, *this, peer); }
void Device::enable_peer_access(const Device& peer) { call(weir_device_enable_peer_access, *this, peer); }
void Device::disable_peer_access(const Device& peer) { call(weir_device_disable_peer_access, *this, peer); }

Device& Backend::device(int ordinal) const {
  return *reinterpret_cast<Device*>(told<weir_device*>(weir_backend_device, this, ordinal));
}

// --- Memory -------------------------------------------------------------------------------------------------------------

AllocationPtr Device::allocate_bytes(std::size_t bytes, MemoryKind kind) {
  return made<Allocation>(weir_allocation_create, *this, bytes, kind);
}
AllocationPtr Device::adopt_memory(void* data, std::size_t bytes, MemoryKind kind, MemoryDeleter deleter) {
  // C's deleter must not throw: the suite's is called where an exception can be dropped.
  const auto end = [](void* memory, void* user_data) {
    const std::unique_ptr<MemoryDeleter> owner(static_cast<MemoryDeleter*>(user_data));
    try {
      if (*owner) (*owner)(memory);
    } catch (...) {
    }
  };
  auto owner = std::make_unique<MemoryDeleter>(std::move(deleter));
  AllocationPtr allocation = made<Allocation>(weir_allocation_adopt, *this, data, bytes, kind, +end, owner.get());
  owner.release();
  return allocation;
}
MemoryInfo Device::memory_info() const {
  MemoryInfo info;
  call(weir_device_memory_info, *this, &info.free, &info.total);
  return info;
}
void Device::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  call(weir_device_copy, *this, destination, source, bytes);
}
Ptr<HostRegistration> Device::register_host(void* data, std::size_t bytes) {
  return made<HostRegistration>(weir_host_registration_create, *this, data, bytes);
}
MemoryPoolPtr Device::create_memory_pool(const MemoryPoolOptions& options) {
  auto c = sized<weir_memory_pool_options>();
  c.max_size = options.max_size;
  c.release_threshold = options.release_threshold;
  return made<MemoryPool>(weir_memory_pool_create, *this, &c);
}
MemoryPoolPtr Device::default_memory_pool() { return made<MemoryPool>(weir_memory_pool_get_default, *this); }
InterprocessHandle Device::interprocess_handle(const Allocation& allocation) const {
  return opened(told<weir_interprocess_handle>(weir_allocation_get_interprocess_handle, &allocation));
}
AllocationPtr Device::open_allocation(const InterprocessHandle& bytes, std::size_t size) {
  const auto c = closed(bytes);
  return made<Allocation>(weir_allocation_open, *this, &c, size);
}

std::size_t MemoryPool::used_bytes() const {
  std::size_t bytes = 0;
  call(weir_memory_pool_usage, this, &bytes, nullptr);
  return bytes;
}
std::size_t MemoryPool::reserved_bytes() const { return told<std::size_t>(weir_memory_pool_usage, this, nullptr); }
void MemoryPool::trim_to(std::size_t keep) { call(weir_memory_pool_trim, this, keep); }
void MemoryPool::set_release_threshold(std::size_t bytes) { call(weir_memory_pool_set_release_threshold, this, bytes); }

// --- Modules and kernels ------------------------------------------------------------------------------------------------

ModulePtr Device::load_module(std::span<const std::byte> image) {
  return made<Module>(weir_module_load, *this, image.data(), image.size());
}
ModulePtr Device::compile(std::string_view source, const CompileOptions& options) {
  const std::string text(source);
  const Compilation compilation(options);
  return made<Module>(weir_module_compile, *this, text.c_str(), &compilation.c);
}
ModulePtr Device::load(const KernelBundle& bundle) {
  return made<Module>(weir_module_load_bundle, *this, bundle.bytes().data(), bundle.bytes().size());
}

KernelPtr Module::untyped_kernel(std::string_view name) {
  const std::string text(name);
  return made<Kernel>(weir_module_get_kernel, this, text.c_str());
}
Span<std::byte> Module::global(std::string_view name) {
  void* address = nullptr;
  std::size_t bytes = 0;
  call(weir_module_get_global, this, std::string(name).c_str(), &address, &bytes);
  return {static_cast<std::byte*>(address), bytes};
}
KernelProperties Kernel::properties() const {
  auto c = sized<weir_kernel_properties>();
  call(weir_kernel_get_properties, this, &c);
  return {c.max_threads_per_block,
          c.registers_per_thread,
          c.static_shared_memory_bytes,
          c.local_memory_bytes,
          c.constant_memory_bytes,
          c.ptx_version,
          c.binary_version,
          c.tier};
}
int Kernel::max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const {
  return told<int>(weir_kernel_max_active_blocks, this, block_threads, shared_memory_bytes);
}
std::uint32_t Kernel::suggested_block_size(std::size_t shared_memory_bytes) const {
  return told<std::uint32_t>(weir_kernel_suggested_block_size, this, shared_memory_bytes);
}
LaunchConfig grid_for(std::size_t count, std::uint32_t block) {
  auto c = sized<weir_launch_config>();
  call(weir_grid_for, count, block, &c);
  return {.grid = {c.grid.x, c.grid.y, c.grid.z}, .block = {c.block.x, c.block.y, c.block.z}};
}

}  // namespace weir
