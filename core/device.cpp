// SPDX-License-Identifier: Apache-2.0
#include "weir/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/captures.hpp"
#include "core/compile_options.hpp"
#include "core/enumerator.hpp"
#include "core/feature_override.hpp"
#include "core/thread_state.hpp"
#include "core/unsupported.hpp"
#include "weir/backend.hpp"
#include "weir/backend_support.hpp"
#include "weir/error.hpp"
#include "weir/kernel_bundle.hpp"

namespace weir {

Device::Device(Backend& backend, int ordinal, std::int64_t native_handle)
    : backend_(backend),
      ordinal_(ordinal),
      native_handle_(native_handle),
      label_(backend.name() + ":" + std::to_string(ordinal)) {}

void Device::finish() { detail::disable_features(features_, detail::disabled_features()); }

// --- Checks -----------------------------------------------------------------------------------------------------------

void Device::enter(const char* operation) const {
  if (detail::barred()) [[unlikely]] detail::throw_barred(operation);
}

void Device::require(const char* operation, Feature feature) const {
  if (!supports(feature)) {
    throw Error(Errc::unsupported, operation, label_,
                "feature '" + std::string(to_string(feature)) + "' is absent: " + this->feature(feature).reason);
  }
}

void Device::require(std::initializer_list<Feature> features) const {
  std::string missing;
  for (const Feature feature : features) {
    if (supports(feature)) continue;
    missing += missing.empty() ? "" : "; ";
    missing += "'" + std::string(to_string(feature)) + "' is absent: " + this->feature(feature).reason;
  }
  if (!missing.empty()) throw Error(Errc::unsupported, "Device::require", label_, missing);
}

void Device::check_lengths(std::size_t to, std::size_t from) const {
  if (to != from) {
    throw Error(Errc::length_mismatch, "Device::copy", label_,
                "the destination has " + std::to_string(to) + " elements and the source " + std::to_string(from) +
                    "; copy a subspan of the longer one");
  }
}

namespace {

/// Whether this thread's list of per-thread default streams is gone: the destructors of other thread-local objects may still
/// ask for a stream. Of a type without a destructor, so that it is there to the thread's very end.
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
  enter("Device::priority_range");
  return do_priority_range();
}

int Device::priority_number(Priority level) const {
  enter("Device::priority_number");
  detail::check_enumerator("Device::priority_number", *this, "Priority", level, Priority::high);
  const auto [least, greatest] = do_priority_range();
  switch (level) {
    case Priority::low: return least;
    case Priority::high: return greatest;
    case Priority::normal: break;
  }
  return std::clamp(0, greatest, least);
}

StreamPtr Device::create_stream(const StreamOptions& options) {
  enter("Device::create_stream");
  int priority = 0;
  if (const Priority* const level = std::get_if<Priority>(&options.priority)) {
    detail::check_enumerator("Device::create_stream", *this, "Priority", *level, Priority::high);
    priority = priority_number(*level);
  } else {
    priority = std::get<int>(options.priority);
    const auto [least, greatest] = do_priority_range();
    if (priority > least || priority < greatest) {
      throw Error(Errc::invalid_argument, "Device::create_stream", label_,
                  "priority " + std::to_string(priority) + " is out of range; this device has " + std::to_string(least) +
                      " (least) to " + std::to_string(greatest) + " (greatest)");
    }
  }
  return do_create_stream(options.blocking, priority);
}

StreamPtr Device::default_stream() {
  enter("Device::default_stream");
  if (Stream* const stream = default_stream_.load(std::memory_order_acquire)) return StreamPtr(stream);
  std::lock_guard lock(default_stream_mutex_);
  if (default_stream_.load(std::memory_order_relaxed) == nullptr) {
    default_stream_.store(do_create_default_stream().detach(), std::memory_order_release);
  }
  return StreamPtr(default_stream_.load(std::memory_order_relaxed));
}

StreamPtr Device::per_thread_stream() {
  enter("Device::per_thread_stream");
  require("Device::per_thread_stream", Feature::per_thread_default_stream);
  // The thread is at its end: the stream is the caller's alone.
  if (thread_streams_gone) return do_create_per_thread_stream();
  thread_local ThreadStreams streams;
  for (const StreamPtr& stream : streams.list) {
    if (&stream->device() == this) return stream;
  }
  streams.list.push_back(do_create_per_thread_stream());
  return streams.list.back();
}

StreamPtr Device::wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) {
  enter("Device::wrap_stream");
  detail::check_enumerator("Device::wrap_stream", *this, "Ownership", ownership, Ownership::adopt);
  StreamPtr stream = do_wrap_stream(handle, ownership, std::move(keep_alive));
  const bool is_default =
      stream->kind() == StreamKind::legacy_default || stream->kind() == StreamKind::per_thread_default;
  if (ownership == Ownership::adopt && is_default) {
    throw Error(Errc::invalid_argument, "Device::wrap_stream", label_,
                "the handle is a default stream, which nobody owns; borrow it");
  }
  return stream;
}

// --- Events -----------------------------------------------------------------------------------------------------------

EventPtr Device::create_event(const EventOptions& options) {
  enter("Device::create_event");
  if (options.interprocess || options.timing || options.blocking_sync) {
    if (options.interprocess) {
      require("Device::create_event", Feature::interprocess_events);
      if (options.timing) {
        throw Error(Errc::invalid_argument, "Device::create_event", label_,
                    "an event cannot both keep time and be shared between processes");
      }
    }
    if (options.timing) require("Device::create_event", Feature::event_timing);
    if (options.blocking_sync) require("Device::create_event", Feature::blocking_sync_events);
  }
  return do_create_event(options);
}

EventPtr Device::open_event(const InterprocessHandle& handle) {
  enter("Device::open_event");
  require("Device::open_event", Feature::interprocess_events);
  return do_open_event(handle);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

MemoryInfo Device::memory_info() const {
  enter("Device::memory_info");
  return do_memory_info();
}

void Device::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  enter("Device::copy");
  if (bytes == 0) return;
  (void)detail::byte_count("Device::copy", bytes, 1);
  if (destination == nullptr || source == nullptr) {
    throw Error(Errc::invalid_argument, "Device::copy", label_,
                std::string("the ") + (destination == nullptr ? "destination" : "source") + " is null");
  }
  detail::check_unsafe_call("Device::copy", *this, *this);
  do_copy(destination, source, bytes);
}

MemoryPoolPtr Device::create_memory_pool(const MemoryPoolOptions& options) {
  enter("Device::create_memory_pool");
  require("Device::create_memory_pool", Feature::memory_pools);
  if (options.max_size != 0) require("Device::create_memory_pool", Feature::memory_pool_max_size);
  detail::check_unsafe_call("Device::create_memory_pool", *this, *this);
  return do_create_memory_pool(options);
}

MemoryPoolPtr Device::default_memory_pool() {
  enter("Device::default_memory_pool");
  require("Device::default_memory_pool", Feature::memory_pools);
  return do_default_memory_pool();
}

// --- Peers ------------------------------------------------------------------------------------------------------------

bool Device::can_access_peer(const Device& peer) const {
  enter("Device::can_access_peer");
  if (&peer == this || &peer.backend_ != &backend_ || !supports(Feature::peer_access)) return false;
  return do_can_access_peer(peer);
}

void Device::enable_peer_access(const Device& peer) {
  const char* const operation = "Device::enable_peer_access";
  enter(operation);
  require(operation, Feature::peer_access);
  if (&peer == this) {
    throw Error(Errc::invalid_argument, operation, label_,
                "a device is no peer of itself, and addresses its own memory without being enabled to");
  }
  if (!can_access_peer(peer)) {
    throw Error(Errc::unsupported, operation, label_,
                "it cannot address the memory of " + peer.describe() + "; copies between the two work all the same");
  }
  detail::check_unsafe_call(operation, *this, *this);
  do_enable_peer_access(peer);
}

void Device::disable_peer_access(const Device& peer) {
  const char* const operation = "Device::disable_peer_access";
  enter(operation);
  require(operation, Feature::peer_access);
  if (!can_access_peer(peer)) return;
  detail::check_unsafe_call(operation, *this, *this);
  do_disable_peer_access(peer);
}

// --- Modules ----------------------------------------------------------------------------------------------------------

ModulePtr Device::load_module(std::span<const std::byte> image) {
  const char* const operation = "Device::load_module";
  enter(operation);
  require(operation, Feature::modules);
  if (image.empty()) throw Error(Errc::invalid_image, operation, label_, "the image is empty");
  return do_load_module(image);
}

ModulePtr Device::compile(std::string_view source, const CompileOptions& options) {
  const char* const operation = "Device::compile";
  enter(operation);
  require(operation, Feature::runtime_compilation);
  detail::check_options(options, operation, label_);
  return do_compile(source, options);
}

ModulePtr Device::load(const KernelBundle& bundle) {
  const char* const operation = "Device::load";
  enter(operation);
  if (!supports(Feature::modules) && !(bundle.source() && supports(Feature::runtime_compilation))) {
    require(operation, Feature::modules);
  }
  const std::string_view backend = backend_.name();
  struct Candidate {
    int rank;
    const KernelBundle::Image* image;
  };
  std::vector<Candidate> candidates;
  std::string images;
  for (const KernelBundle::Image& image : bundle.images()) {
    images += fmt::format("{}{} {}", images.empty() ? "" : ", ", image.backend, image.architecture);
    if (image.backend != backend || !supports(Feature::modules)) continue;
    if (const int rank = do_rank_image(image.architecture, image.code); rank > 0) candidates.push_back({rank, &image});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
  std::string refusals;
  for (const Candidate& candidate : candidates) {
    try {
      ModulePtr module = do_load_module(candidate.image->code);
      support::log(support::LogLevel::info, fmt::format("kernels '{}': the image for {} runs on {}", bundle.name(),
                                                        candidate.image->architecture, label_));
      return module;
    } catch (const Error& error) {
      if (error.errc() != Errc::invalid_image) throw;
      refusals += fmt::format("; the image for {} does not load: {}", candidate.image->architecture, error.detail());
    }
  }
  if (bundle.source() && supports(Feature::runtime_compilation)) {
    support::log(support::LogLevel::info,
                 fmt::format("kernels '{}': no image fits {} ({}), so its source is compiled{}", bundle.name(), label_,
                             properties_.architecture, refusals));
    return compile(*bundle.source(), bundle.options(backend));
  }
  throw Error(Errc::invalid_image, operation, label_,
              fmt::format("no image of the kernels '{}' fits: there are {}, and this device is {} {}{}; {}; add an image for it in "
                          "weir_add_kernels",
                          bundle.name(), images.empty() ? "none" : images, backend, properties_.architecture, refusals,
                          bundle.source() ? "their source cannot be compiled here: " + feature(Feature::runtime_compilation).reason
                                          : std::string("the bundle carries no source")));
}

void Device::synchronize() {
  enter("Device::synchronize");
  detail::check_unsafe_call("Device::synchronize", *this, *this);
  if (detail::open_captures.load(std::memory_order_acquire) != 0 && detail::Captures::instance().any_on(*this, false)) {
    detail::throw_device_captures("Device::synchronize", *this);
  }
  do_synchronize();
}

// --- Optional operations, for backends that do not have them -----------------------------------------------------------

using detail::not_overridden;

StreamPtr Device::do_create_per_thread_stream() {
  not_overridden("Device::per_thread_stream", label_, Feature::per_thread_default_stream);
}
EventPtr Device::do_open_event(const InterprocessHandle&) {
  not_overridden("Device::open_event", label_, Feature::interprocess_events);
}
void* Device::do_register_host(void*, std::size_t) {
  not_overridden("Device::register_host", label_, Feature::host_registration);
}
void Device::do_unregister_host(void*) {}
MemoryPoolPtr Device::do_create_memory_pool(const MemoryPoolOptions&) {
  not_overridden("Device::create_memory_pool", label_, Feature::memory_pools);
}
MemoryPoolPtr Device::do_default_memory_pool() {
  not_overridden("Device::default_memory_pool", label_, Feature::memory_pools);
}
InterprocessHandle Device::do_interprocess_handle(const Allocation&) const {
  not_overridden("Device::interprocess_handle", label_, Feature::interprocess_memory);
}
void* Device::do_open_memory(const InterprocessHandle&) {
  not_overridden("Device::open_allocation", label_, Feature::interprocess_memory);
}
void Device::do_close_memory(void*) {}
void Device::do_enable_peer_access(const Device&) {
  not_overridden("Device::enable_peer_access", label_, Feature::peer_access);
}
void Device::do_disable_peer_access(const Device&) {
  not_overridden("Device::disable_peer_access", label_, Feature::peer_access);
}
ModulePtr Device::do_load_module(std::span<const std::byte>) {
  not_overridden("Device::load_module", label_, Feature::modules);
}
ModulePtr Device::do_compile(std::string_view, const CompileOptions&) {
  not_overridden("Device::compile", label_, Feature::runtime_compilation);
}
int Device::do_rank_image(std::string_view architecture, std::span<const std::byte>) const {
  return architecture == properties_.architecture ? 1 : 0;
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
  device.finish();
  devices_.push_back(&device);
}

}  // namespace weir
