// SPDX-License-Identifier: Apache-2.0
#include "weir/device.hpp"

#include <algorithm>

#include "core/call.hpp"
#include "core/feature_override.hpp"
#include "weir/backend.hpp"
#include "weir/error.hpp"

namespace weir {

using detail::Call;

Device::Device(Backend& backend, int ordinal, std::int64_t native_handle)
    : backend_(backend),
      ordinal_(ordinal),
      native_handle_(native_handle),
      label_(backend.name() + ":" + std::to_string(ordinal)) {}

void Device::require(std::initializer_list<Feature> features) const {
  std::string missing;
  for (const Feature feature : features) {
    if (!supports(feature)) missing += (missing.empty() ? "" : "; ") + detail::absence(*this, feature);
  }
  if (!missing.empty()) throw Error(Errc::unsupported, "Device::require", label_, missing);
}

namespace {

/// Whether this thread's list of per-thread default streams is destroyed. A plain bool, so that destructors of other
/// thread-local objects can still read it.
thread_local bool thread_streams_gone = false;

struct ThreadStreams {
  std::vector<StreamPtr> list;

  ~ThreadStreams() {
    thread_streams_gone = true;
    std::exchange(list, {}).clear();
  }
};

}  // namespace

// --- Streams ----------------------------------------------------------------------------------------------------------

PriorityRange Device::priority_range() const {
  const Call call(*this, "Device::priority_range");
  return do_priority_range();
}

int Device::priority_number(Priority level) const {
  const Call call(*this, "Device::priority_number");
  call.check_enumerator("Priority", level, Priority::high);
  const auto [least, greatest] = do_priority_range();
  switch (level) {
    case Priority::low: return least;
    case Priority::high: return greatest;
    case Priority::normal: break;
  }
  return std::clamp(0, greatest, least);
}

StreamPtr Device::create_stream(const StreamOptions& options) {
  const Call call(*this, "Device::create_stream");
  int priority = 0;
  if (const Priority* const level = std::get_if<Priority>(&options.priority)) {
    call.check_enumerator("Priority", *level, Priority::high);
    priority = priority_number(*level);
  } else {
    priority = std::get<int>(options.priority);
    const auto [least, greatest] = do_priority_range();
    if (priority > least || priority < greatest) {
      call.refuse(Errc::invalid_argument, "priority " + std::to_string(priority) + " is out of range; this device has " +
                                              std::to_string(least) + " (least) to " + std::to_string(greatest) +
                                              " (greatest)");
    }
  }
  return do_create_stream(options.blocking, priority);
}

StreamPtr Device::default_stream() {
  const Call call(*this, "Device::default_stream");
  if (Stream* const stream = default_stream_.load(std::memory_order_acquire)) return StreamPtr(stream);
  std::lock_guard lock(default_stream_mutex_);
  if (default_stream_.load(std::memory_order_relaxed) == nullptr) {
    default_stream_.store(do_create_default_stream().detach(), std::memory_order_release);
  }
  return StreamPtr(default_stream_.load(std::memory_order_relaxed));
}

StreamPtr Device::per_thread_stream() {
  const Call call(*this, "Device::per_thread_stream");
  call.require(Feature::per_thread_default_stream);
  // The thread is ending: the stream is not kept.
  if (thread_streams_gone) return do_create_per_thread_stream();
  thread_local ThreadStreams streams;
  for (const StreamPtr& stream : streams.list) {
    if (&stream->device() == this) return stream;
  }
  streams.list.push_back(do_create_per_thread_stream());
  return streams.list.back();
}

StreamPtr Device::wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) {
  const Call call(*this, "Device::wrap_stream");
  call.check_enumerator("Ownership", ownership, Ownership::adopt);
  StreamPtr stream = do_wrap_stream(handle, ownership, std::move(keep_alive));
  const bool is_default = stream->kind() == StreamKind::legacy_default || stream->kind() == StreamKind::per_thread_default;
  if (ownership == Ownership::adopt && is_default) {
    call.refuse(Errc::invalid_argument, "the handle is a default stream, which nobody owns; borrow it");
  }
  return stream;
}

// --- Events -----------------------------------------------------------------------------------------------------------

EventPtr Device::create_event(const EventOptions& options) {
  const Call call(*this, "Device::create_event");
  if (options.interprocess) {
    call.require(Feature::interprocess_events);
    if (options.timing) call.refuse(Errc::invalid_argument, "an event cannot both keep time and be shared between processes");
  }
  if (options.timing) call.require(Feature::event_timing);
  if (options.blocking_sync) call.require(Feature::blocking_sync_events);
  return do_create_event(options);
}

EventPtr Device::open_event(const InterprocessHandle& handle) {
  const Call call(*this, "Device::open_event");
  call.require(Feature::interprocess_events);
  return do_open_event(handle);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

MemoryInfo Device::memory_info() const {
  const Call call(*this, "Device::memory_info");
  return do_memory_info();
}

void Device::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  const Call call(*this, "Device::copy");
  if (bytes == 0) return;
  call.check_bytes(bytes);
  if (destination == nullptr || source == nullptr) {
    call.refuse(Errc::invalid_argument, destination == nullptr ? "the destination is null" : "the source is null");
  }
  call.check_unsafe();
  do_copy(destination, source, bytes);
}

MemoryPoolPtr Device::create_memory_pool(const MemoryPoolOptions& options) {
  const Call call(*this, "Device::create_memory_pool");
  call.require(Feature::memory_pools);
  if (options.max_size != 0) call.require(Feature::memory_pool_max_size);
  call.check_unsafe();
  return do_create_memory_pool(options);
}

MemoryPoolPtr Device::default_memory_pool() {
  const Call call(*this, "Device::default_memory_pool");
  call.require(Feature::memory_pools);
  return do_default_memory_pool();
}

// --- Peers ------------------------------------------------------------------------------------------------------------

bool Device::can_access_peer(const Device& peer) const {
  const Call call(*this, "Device::can_access_peer");
  if (&peer == this || &peer.backend_ != &backend_ || !supports(Feature::peer_access)) return false;
  return do_can_access_peer(peer);
}

void Device::enable_peer_access(const Device& peer) {
  const Call call(*this, "Device::enable_peer_access");
  call.require(Feature::peer_access);
  if (&peer == this) {
    call.refuse(Errc::invalid_argument,
                "a device is no peer of itself, and addresses its own memory without being enabled to");
  }
  if (!can_access_peer(peer)) {
    call.refuse(Errc::unsupported,
                "it cannot address the memory of " + peer.describe() + "; copies between the two work all the same");
  }
  call.check_unsafe();
  do_enable_peer_access(peer);
}

void Device::disable_peer_access(const Device& peer) {
  const Call call(*this, "Device::disable_peer_access");
  call.require(Feature::peer_access);
  if (!can_access_peer(peer)) return;
  call.check_unsafe();
  do_disable_peer_access(peer);
}

// --- Modules ----------------------------------------------------------------------------------------------------------

namespace {

// Whether `text` is `NAME` or `NAME(parameters)`. Of anything else, compilers would take a part for the value.
bool is_macro(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto in_name = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  const std::string_view name = text.substr(0, text.find('(')), parameters = text.substr(name.size());
  if (name.empty() || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), in_name)) return false;
  if (parameters.empty()) return true;
  return parameters.back() == ')' && std::all_of(parameters.begin() + 1, parameters.end() - 1,
                                                 [&](char c) { return in_name(c) || c == ',' || c == '.' || c == ' '; });
}

}  // namespace

ModulePtr Device::load_module(std::span<const std::byte> image) {
  const Call call(*this, "Device::load_module");
  call.require(Feature::modules);
  if (image.empty()) call.refuse(Errc::invalid_image, "the image is empty");
  return do_load_module(image);
}

ModulePtr Device::compile(std::string_view source, const CompileOptions& options) {
  const Call call(*this, "Device::compile");
  call.require(Feature::runtime_compilation);
  if (options.cxx_standard != 14 && options.cxx_standard != 17 && options.cxx_standard != 20) {
    call.refuse(Errc::invalid_argument,
                "C++" + std::to_string(options.cxx_standard) + " is not known to every compiler; use 14, 17 or 20");
  }
  for (const auto& [name, value] : options.defines) {
    if (is_macro(name) && value.find_first_of(std::string_view("\n\r\0", 3)) == std::string::npos) continue;
    call.refuse(Errc::invalid_argument,
                is_macro(name) ? "the value of the macro '" + name + "' has more than one line; a macro has one"
                               : "'" + name +
                                     "' in `defines` is no macro's name; give an identifier, with its parameters in "
                                     "parentheses if it has any, and what it stands for as the value");
  }
  return do_compile(source, options);
}

void Device::synchronize() {
  const Call call(*this, "Device::synchronize");
  call.check_unsafe();
  if (detail::open_captures.load(std::memory_order_acquire) != 0 && detail::Captures::instance().any_on(*this, false)) {
    detail::throw_device_captures(call.operation(), *this);
  }
  do_synchronize();
}

// --- Backend ----------------------------------------------------------------------------------------------------------

Device& Backend::device(int ordinal) const {
  if (ordinal < 0 || ordinal >= device_count()) {
    throw Error(Errc::invalid_argument, "Backend::device", name_,
                "there is no device " + std::to_string(ordinal) + "; this backend has " + std::to_string(device_count()) +
                    ", counted from 0");
  }
  return *devices_[static_cast<std::size_t>(ordinal)];
}

void Backend::add_device(Device& device) {
  detail::disable_features(device.features_, detail::disabled_features());
  devices_.push_back(&device);
}

}  // namespace weir
