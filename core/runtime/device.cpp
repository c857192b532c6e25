// SPDX-License-Identifier: Apache-2.0
#include "weir/device.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/runtime/call.hpp"
#include "core/runtime/compile_options.hpp"
#include "core/plugins/feature_override.hpp"
#include "core/runtime/submit.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/error.hpp"
#include "weir/kernel_bundle.hpp"

// The functions of `Device`, `Partition` and `Backend`, except memory and health.
namespace weir {

Device::Device(Backend& backend, int ordinal, std::int64_t native_handle)
    : backend_(backend),
      ordinal_(ordinal),
      native_handle_(native_handle),
      label_(backend.name() + ":" + std::to_string(ordinal)) {}

void Device::require(std::initializer_list<Feature> features) const {
  std::string missing;
  for (const Feature feature : features) {
    if (supports(feature)) continue;
    if (!missing.empty()) missing += "; ";
    missing += detail::absence(*this, feature);
  }
  if (!missing.empty()) throw Error(Errc::unsupported, "Device::require", label_, missing);
}

namespace {

struct ThreadStreams {
  std::vector<StreamPtr> list;

  ~ThreadStreams() {
    detail::thread_state.streams_gone = true;
    std::exchange(list, {}).clear();
  }
};

}  // namespace

// --- Streams ----------------------------------------------------------------------------------------------------------

PriorityRange Device::priority_range() const {
  const Call call(*this, "Device::priority_range");
  return impl(*this).do_priority_range();
}

namespace {

/// Returns the vendor's number for the requested priority. Throws `invalid_argument` if it is out of range.
template <class Object>
int checked_priority(const Call<Object>& call, Device& device, const StreamOptions& options) {
  const auto [least, greatest] = impl(device).do_priority_range();
  if (const Priority* const level = std::get_if<Priority>(&options.priority)) {
    call.check_enumerator("Priority", *level, Priority::high);
    return *level == Priority::low ? least : *level == Priority::high ? greatest : std::clamp(0, greatest, least);
  }
  const int priority = std::get<int>(options.priority);
  if (priority > least || priority < greatest) {
    call.throw_error(Errc::invalid_argument, "priority " + std::to_string(priority) + " is out of range; this device has " +
                                            std::to_string(least) + " (least) to " + std::to_string(greatest) +
                                            " (greatest)");
  }
  return priority;
}

}  // namespace

StreamPtr Device::create_stream(const StreamOptions& options) {
  const Call call(*this, "Device::create_stream");
  const int priority = checked_priority(call, *this, options);
  return perform(*this, OperationKind::create_stream, call.operation(), [](ToolNotice&) {},
                 [&] { return impl(*this).do_create_stream(options.blocking, priority); });
}

PartitionPtr Device::partition(const PartitionOptions& options) {
  const Call call(*this, "Device::partition");
  call.require(Feature::partitions);
  if (options.compute_units == 0)
    call.throw_error(Errc::invalid_argument, "a partition cannot have 0 compute units; request 1 or more");
  return impl(*this).do_partition(options.compute_units);
}

void DeviceImpl::throw_too_few_units(std::uint32_t compute_units, std::uint32_t left) const {
  throw Error(Errc::invalid_argument, "Device::partition", describe(),
              std::to_string(compute_units) + " compute units were requested, but " + std::to_string(left) + " of " +
                  std::to_string(properties().multiprocessor_count) + " are free; destroy another partition first");
}

StreamPtr Partition::create_stream(const StreamOptions& options) {
  const Call call(*this, "Partition::create_stream");
  const int priority = checked_priority(call, device_, options);
  if (options.blocking) {
    call.throw_error(Errc::invalid_argument,
                     "drivers support only non-blocking streams in a partition; create a non-blocking stream, and call "
                     "Stream::wait where it must wait for the default stream");
  }
  return perform(device_, OperationKind::create_stream, call.operation(), [](ToolNotice&) {},
                 [&] { return impl(*this).do_create_stream(priority); });
}

std::string Partition::describe() const {
  return device_.describe() + " partition of " + std::to_string(compute_units_) + " compute units";
}

StreamPtr Device::default_stream() {
  const Call call(*this, "Device::default_stream");
  DeviceImpl& self = impl(*this);
  if (Stream* const stream = self.default_stream_.load(std::memory_order_acquire)) return StreamPtr(stream);
  std::lock_guard lock(self.default_stream_mutex_);
  if (self.default_stream_.load(std::memory_order_relaxed) == nullptr) {
    self.default_stream_.store(self.do_create_default_stream().detach(), std::memory_order_release);
  }
  return StreamPtr(self.default_stream_.load(std::memory_order_relaxed));
}

StreamPtr Device::per_thread_stream() {
  const Call call(*this, "Device::per_thread_stream");
  call.require(Feature::per_thread_default_stream);
  // The thread is ending and its list of streams was destroyed, so create a stream that is not kept.
  if (detail::thread_state.streams_gone) return impl(*this).do_create_per_thread_stream();
  thread_local ThreadStreams streams;
  for (const StreamPtr& stream : streams.list) {
    if (&stream->device() == this) return stream;
  }
  streams.list.push_back(impl(*this).do_create_per_thread_stream());
  return streams.list.back();
}

StreamPtr Device::wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) {
  const Call call(*this, "Device::wrap_stream");
  call.check_enumerator("Ownership", ownership, Ownership::adopt);
  StreamPtr stream = impl(*this).do_wrap_stream(handle, ownership, std::move(keep_alive));
  const bool is_default = stream->kind() == StreamKind::legacy_default || stream->kind() == StreamKind::per_thread_default;
  if (ownership == Ownership::adopt && is_default) {
    call.throw_error(Errc::invalid_argument, "the handle is a default stream, which has no owner; borrow it instead");
  }
  return stream;
}

// --- Events -----------------------------------------------------------------------------------------------------------

EventPtr Device::create_event(const EventOptions& options) {
  const Call call(*this, "Device::create_event");
  if (options.interprocess) {
    call.require(Feature::interprocess_events);
    if (options.timing)
      call.throw_error(Errc::invalid_argument, "an event with timing cannot be shared with other processes");
  }
  if (options.timing) call.require(Feature::event_timing);
  if (options.blocking_sync) call.require(Feature::blocking_sync_events);
  return impl(*this).do_create_event(options);
}

EventPtr Device::open_event(const InterprocessHandle& handle) {
  const Call call(*this, "Device::open_event");
  call.require(Feature::interprocess_events);
  return impl(*this).do_open_event(handle);
}

// --- Memory -----------------------------------------------------------------------------------------------------------

MemoryInfo Device::memory_info() const {
  const Call call(*this, "Device::memory_info");
  return impl(*this).do_memory_info();
}

void Device::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  const Call call(*this, "Device::copy");
  if (bytes == 0) return;
  call.check_bytes(bytes);
  if (destination == nullptr || source == nullptr) {
    call.throw_error(Errc::invalid_argument, destination == nullptr ? "the destination is null" : "the source is null");
  }
  call.check_unsafe();
  perform(*this, OperationKind::host_copy, call.operation(),
          [&](ToolNotice& notice) { notice.reads(source, bytes).writes(destination, bytes); },
          [&] { impl(*this).do_copy(destination, source, bytes); });
}

MemoryPoolPtr Device::create_memory_pool(const MemoryPoolOptions& options) {
  const Call call(*this, "Device::create_memory_pool");
  call.require(Feature::memory_pools);
  if (options.max_size != 0) call.require(Feature::memory_pool_max_size);
  call.check_unsafe();
  return perform(*this, OperationKind::create_memory_pool, call.operation(), [](ToolNotice&) {},
                 [&] { return impl(*this).do_create_memory_pool(options); });
}

MemoryPoolPtr Device::default_memory_pool() {
  const Call call(*this, "Device::default_memory_pool");
  call.require(Feature::memory_pools);
  return impl(*this).do_default_memory_pool();
}

// --- Peers ------------------------------------------------------------------------------------------------------------

bool Device::can_access_peer(const Device& peer) const {
  const Call call(*this, "Device::can_access_peer");
  if (&peer == this || &peer.backend_ != &backend_ || !supports(Feature::peer_access)) return false;
  return impl(*this).do_can_access_peer(peer);
}

void Device::enable_peer_access(const Device& peer) {
  const Call call(*this, "Device::enable_peer_access");
  call.require(Feature::peer_access);
  if (&peer == this) {
    call.throw_error(Errc::invalid_argument, "a device always has access to its own memory, so do not enable it");
  }
  if (!can_access_peer(peer)) {
    call.throw_error(Errc::unsupported, "it cannot access the memory of " + peer.describe() +
                                            "; copies between the two devices work nevertheless");
  }
  call.check_unsafe();
  perform(*this, OperationKind::enable_peer_access, call.operation(), [&](ToolNotice& notice) { notice->peer = &peer; },
          [&] { impl(*this).do_enable_peer_access(peer); });
}

void Device::disable_peer_access(const Device& peer) {
  const Call call(*this, "Device::disable_peer_access");
  call.require(Feature::peer_access);
  if (!can_access_peer(peer)) return;
  call.check_unsafe();
  perform(*this, OperationKind::disable_peer_access, call.operation(), [&](ToolNotice& notice) { notice->peer = &peer; },
          [&] { impl(*this).do_disable_peer_access(peer); });
}

// --- Modules ----------------------------------------------------------------------------------------------------------

namespace {

/// Loads an image, and reports that to tools.
ModulePtr load_image(const Call<Device>& call, Device& device, std::span<const std::byte> image) {
  return perform(device, OperationKind::load_module, call.operation(), [](ToolNotice&) {},
                 [&] { return impl(device).do_load_module(image); });
}

}  // namespace

ModulePtr Device::load_module(std::span<const std::byte> image) {
  const Call call(*this, "Device::load_module");
  call.require(Feature::modules);
  if (image.empty()) call.throw_error(Errc::invalid_image, "the image is empty");
  return load_image(call, *this, image);
}

ModulePtr Device::compile(std::string_view source, const CompileOptions& options) {
  const Call call(*this, "Device::compile");
  call.require(Feature::runtime_compilation);
  detail::check_options(options, call.operation(), label_);
  ModulePtr module = perform(*this, OperationKind::compile, call.operation(), [](ToolNotice&) {},
                             [&] { return impl(*this).do_compile(source, options); });
  if (options.include_directories.empty()) module->bundle_ = detail::bundle_of(source, options, backend_.name());
  return module;
}

ModulePtr Device::load(const KernelBundle& bundle) {
  const Call call(*this, "Device::load");
  if (!(bundle.source() && supports(Feature::runtime_compilation))) call.require(Feature::modules);
  const std::string_view backend = backend_.name();
  struct Candidate {
    int rank;
    const KernelBundle::Image* image;
  };
  std::vector<Candidate> candidates;
  std::string images;
  const std::vector<KernelBundle::Image> all = bundle.images();
  for (const KernelBundle::Image& image : all) {
    images += fmt::format("{}{} {}", images.empty() ? "" : ", ", image.backend, image.architecture);
    if (image.backend != backend || !supports(Feature::modules)) continue;
    if (const int rank = impl(*this).do_rank_image(image.architecture, image.code); rank > 0)
      candidates.push_back({rank, &image});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
  const auto keep_bundle = [&](Module& module) { module.bundle_.assign(bundle.bytes().begin(), bundle.bytes().end()); };
  std::string refusals;
  for (const Candidate& candidate : candidates) {
    try {
      ModulePtr module = load_image(call, *this, candidate.image->code);
      keep_bundle(*module);
      support::log(support::LogLevel::info, fmt::format("kernels '{}': the image for {} runs on {}", bundle.name(),
                                                        candidate.image->architecture, label_));
      return module;
    } catch (const Error& error) {
      if (error.errc() != Errc::invalid_image) throw;
      refusals += fmt::format("; the image for {} cannot be loaded: {}", candidate.image->architecture, error.detail());
    }
  }
  if (bundle.source() && supports(Feature::runtime_compilation)) {
    support::log(support::LogLevel::info,
                 fmt::format("kernels '{}': no image fits {} ({}), so its source is compiled{}", bundle.name(), label_,
                             properties_.architecture, refusals));
    ModulePtr module = compile(*bundle.source(), bundle.options(backend));
    keep_bundle(*module);
    return module;
  }
  call.throw_error(
      Errc::invalid_image,
      fmt::format("no image of the kernels '{}' fits: the bundle has {}, but this device is {} {}{}; {}; add an image for "
                  "this device in weir_add_kernels",
                  bundle.name(), images.empty() ? "none" : images, backend, properties_.architecture, refusals,
                  bundle.source() ? "their source cannot be compiled here: " + feature(Feature::runtime_compilation).reason
                                  : std::string("the bundle does not contain the source")));
}

void detail::check_device_wait(const Call<Device>& call) {
  call.check_unsafe();
  if (open_captures.load(std::memory_order_acquire) != 0 && Captures::instance().any_on(call.device(), false))
    throw_device_captures(call.operation(), call.device());
}

void Device::synchronize() {
  const Call call(*this, "Device::synchronize");
  detail::check_device_wait(call);
  perform(*this, OperationKind::synchronize, call.operation(), [](ToolNotice&) {}, [this] { impl(*this).do_synchronize(); });
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

void BackendImpl::add_device(Device& device) {
  detail::disable_features(device.features_, detail::disabled_features());
  detail::HealthCore::add(device);
  devices_.push_back(&device);
}

}  // namespace weir
