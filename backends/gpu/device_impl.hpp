// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/conditional.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/event.hpp"
#include "backends/gpu/memory_pool.hpp"
#include "backends/gpu/module.hpp"
#include "backends/gpu/program.hpp"
#include "backends/gpu/stream.hpp"

namespace weir::gpu {

template <class Api>
GpuDevice<Api>::GpuDevice(Backend& backend, const Api& api, int ordinal)
    : DeviceImpl(backend, ordinal, api.device_number(ordinal)), api_(api), events_(new EventPool<Api>(*this)) {
  api.describe_device(ordinal, mutable_properties(), mutable_features());
  streams_capture_ = mutable_features().supports(Feature::graph_capture);
}

template <class Api>
void GpuDevice<Api>::open() const {
  const std::lock_guard lock(mutex_);
  if (opened_.load(std::memory_order_relaxed)) return;
  check(api_, api_.open_device(ordinal(), context_), "Device", *this);
  const Current current(api_, context_);
  check(api_, api_.priority_range(priorities_.least, priorities_.greatest), "Device::priority_range", *this);
  opened_.store(true, std::memory_order_release);
}

// --- Streams ----------------------------------------------------------------------------------------------------------

template <class Api>
StreamPtr GpuDevice<Api>::do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) {
  const char* const operation = "Device::wrap_stream";
  auto native = static_cast<StreamHandle>(handle);
  StreamKind kind = ownership == Ownership::adopt ? StreamKind::adopted : StreamKind::borrowed;
  if (api_.is_legacy_stream(native)) {
    kind = StreamKind::legacy_default;
    native = api_.legacy_stream();
  } else if (native == api_.per_thread_stream()) {
    kind = StreamKind::per_thread_default;
  }
  if (kind == StreamKind::borrowed) {
    if (StreamPtr known = wrap_again(native, keep_alive)) return known;
  }
  const bool is_default = kind == StreamKind::legacy_default || kind == StreamKind::per_thread_default;
  const int found = is_default ? ordinal() : device_of(native);
  if (found >= 0 && found != ordinal()) {
    throw Error(Errc::wrong_device, operation, describe(),
                "the handle is a stream of " + backend().name() + ":" + std::to_string(found) + "; wrap it on that device");
  }
  if (found == Api::of_another_context) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "the handle is a stream of another context than the device's primary one (cuCtxCreate, or a green context), "
                "which does not work with Weir's events, memory and kernels; create the stream in the primary context, as "
                "the CUDA runtime does");
  }
  (void)context();
  return make_ptr<GpuStream<Api>>(*this, native, kind, std::move(keep_alive));
}

template <class Api>
bool GpuDevice<Api>::keep_wrapper(GpuStream<Api>& stream) noexcept {
  // Programs may wrap ever new handles. At this number of kept wrappers, all are deleted.
  constexpr std::size_t most = 256;
  std::vector<GpuStream<Api>*> dropped;
  bool is_kept = false;
  try {
    const std::lock_guard lock(mutex_);
    if (const auto& native = stream.native_stream(); native != nullptr && native->ends_with_events()) return false;
    if (wrappers_.size() >= most && !wrappers_.contains(stream.native())) {
      dropped.reserve(wrappers_.size());
      for (const auto& [handle, kept] : wrappers_) dropped.push_back(kept);
      wrappers_.clear();
    }
    GpuStream<Api>*& place = wrappers_[stream.native()];
    is_kept = place == nullptr;
    if (is_kept) place = &stream;
  } catch (const std::exception&) {
    // There is no memory to keep this wrapper.
  }
  for (GpuStream<Api>* const wrapper : dropped) delete wrapper;
  return is_kept;
}

// --- Events -----------------------------------------------------------------------------------------------------------

template <class Api>
std::shared_ptr<const std::uint64_t> GpuDevice<Api>::number_of(StreamHandle stream, StreamKind kind) {
  // Far above the ids that drivers assign.
  constexpr std::uint64_t first = std::uint64_t{1} << 63U, first_of_threads = first | first >> 1U;
  if (kind == StreamKind::per_thread_default) {
    // This handle refers to a different stream in each thread. `thread` has no destructor, so destructors of other
    // thread-local objects can still use it.
    static constinit std::atomic<std::uint64_t> threads{0};
    static constinit thread_local std::uint64_t thread = 0;
    if (thread == 0) thread = ++threads;
    return std::make_shared<const std::uint64_t>(first_of_threads + (thread << 16U) + static_cast<std::uint64_t>(ordinal()));
  }
  const std::lock_guard lock(mutex_);
  static constinit std::atomic<std::uint64_t> last{first};
  auto number = stream_numbers_[stream].lock();
  if (!number) {
    std::erase_if(stream_numbers_, [](const auto& entry) { return entry.second.expired(); });
    stream_numbers_[stream] = number = std::make_shared<const std::uint64_t>(++last);
    // Stored, because the legacy default stream lives as long as the device.
    if (kind == StreamKind::legacy_default) legacy_number_ = number;
  }
  return number;
}

template <class Api>
std::shared_ptr<NativeStream<Api>> GpuDevice<Api>::native_stream(StreamHandle stream, StreamKind kind) {
  if constexpr (Api::remembers_records()) {
    if (api_.events_outlive_streams() || kind == StreamKind::legacy_default) return nullptr;
    // The handle is the same for the default streams of all threads, so it cannot be used as a key.
    if (kind == StreamKind::per_thread_default) return std::make_shared<NativeStream<Api>>(*this, stream);
    const std::lock_guard lock(mutex_);
    const auto known = native_streams_.find(stream);
    if (kind == StreamKind::borrowed && known != native_streams_.end()) {
      if (auto shared = known->second.lock()) return shared;
    }
    std::erase_if(native_streams_, [](const auto& entry) { return entry.second.expired(); });
    auto made = std::make_shared<NativeStream<Api>>(*this, stream);
    native_streams_[stream] = made;
    return made;
  } else {
    return nullptr;
  }
}

// --- Memory -----------------------------------------------------------------------------------------------------------

/// A driver can create only a limited number of pools, and a program may drop many pools before their frees are over. So a
/// pool with pending frees is reused if there are many of them, or if the driver creates no more.
template <class Api>
std::shared_ptr<NativePool<Api>> GpuDevice<Api>::make_native_pool(std::size_t max_size) {
  const auto owned = [](NativePool<Api>* pool) {
    return std::shared_ptr<NativePool<Api>>(pool, &NativePool<Api>::give_back);
  };
  constexpr std::size_t most_pending = 64;
  if (auto* const kept = take_kept_pool(max_size, most_pending)) return owned(kept);
  typename Api::PoolHandle handle = nullptr;
  const auto result = api_.create_pool(context(), max_size, handle);
  if (result == Api::success) {
    return owned(
        make_owner([&] { return new NativePool<Api>(*this, handle, max_size); },
                   [&] { log_failure(api_, api_.destroy_pool(handle), "while a memory pool was destroyed", describe()); }));
  }
  if (Api::meaning(result).errc == Errc::out_of_memory) {
    if (auto* const kept = take_kept_pool(max_size, 0)) return owned(kept);
  }
  fail(api_, result, "Device::create_memory_pool", describe(), api_.refusal_of_memory(result));
}

// Another thread may still trim a pool that is reused here, which is harmless.
template <class Api>
NativePool<Api>* GpuDevice<Api>::take_kept_pool(std::size_t max_size, std::size_t most_pending) noexcept {
  const std::lock_guard lock(mutex_);
  auto found = kept_pools_.end();
  std::size_t pending = 0;
  for (auto kept = kept_pools_.begin(); kept != kept_pools_.end(); ++kept) {
    if (kept->pool->max_size() != max_size) continue;
    if (found == kept_pools_.end() || kept->is_idle) found = kept;
    if (kept->is_idle) break;
    ++pending;
  }
  if (found == kept_pools_.end() || (!found->is_idle && pending <= most_pending)) return nullptr;
  NativePool<Api>* const pool = found->pool;
  kept_pools_.erase(found);
  return pool;
}

// --- Peers ------------------------------------------------------------------------------------------------------------

template <class Api>
void GpuDevice<Api>::do_enable_peer_access(const Device& peer) {
  // The const_cast is safe, because it changes only the peer's list of readers.
  auto& owner = const_cast<GpuDevice&>(static_cast<const GpuDevice&>(peer));
  {
    const auto current = make_current();
    const std::lock_guard lock(mutex_);
    // If other code had already enabled the access, Weir must not disable it later.
    enabled_peers_.reserve(enabled_peers_.size() + 1);
    const auto result = api_.enable_peer(owner.context());
    if (result != Api::peer_already_enabled) {
      check(api_, result, "Device::enable_peer_access", *this);
      enabled_peers_.push_back(&owner);
    }
  }
  owner.admit(*this, true);
}

template <class Api>
void GpuDevice<Api>::admit(const GpuDevice& reader, bool allowed) {
  const char* const operation = allowed ? "Device::enable_peer_access" : "Device::disable_peer_access";
  const auto current = make_current();
  const std::lock_guard lock(mutex_);
  const auto known = std::find(readers_.begin(), readers_.end(), &reader);
  if ((known != readers_.end()) == allowed) return;
  if (supports(Feature::memory_pools)) {
    typename Api::PoolHandle own = nullptr;
    check(api_, api_.default_pool(context(), own), operation, *this);
    check(api_, api_.set_pool_access(own, reader.context(), allowed), operation, *this);
    for (const GpuMemoryPool<Api>* pool : pools_) {
      check(api_, api_.set_pool_access(pool->native(), reader.context(), allowed), operation, *this);
    }
  }
  if (allowed) {
    readers_.push_back(&reader);
  } else {
    readers_.erase(known);
  }
}

// --- Modules ----------------------------------------------------------------------------------------------------------

template <class Api>
ModulePtr GpuDevice<Api>::load(const CompiledProgram& program, ModuleContents&& contents) {
  const std::span<const std::byte> image = program.image;
  // PTX is text and needs a terminating null; other image formats ignore it.
  std::string copy(reinterpret_cast<const char*>(image.data()), image.size());
  const auto current = make_current();
  typename Api::ModuleHandle module = nullptr;
  std::string log;
  typename Api::Result result;
  {
    const CaptureModeScope<Api> relaxed(api_);  // the driver may synchronize the device, which affects no capture
    result = api_.load_module(module, copy.c_str(), log);
  }
  if (result != Api::success) {
    const std::string detail(Api::meaning(result).detail);
    throw Error(
        Api::meaning(result).errc == Errc::out_of_memory ? Errc::out_of_memory : Errc::invalid_image, "Device::load_module",
        describe(),
        detail + " (this device is " + properties().architecture + ")" + (log.empty() ? "" : "; the driver reports: " + log),
        native_error(api_, result));
  }
  return make_owner(
      [&] {
        contents.kernels = api_.image_kernels(image, *this);
        for (const auto& [expression, symbol] : program.names) {
          contents.symbols.emplace(kernels::normalized_name(expression), symbol);
        }
        return make_ptr<GpuModule<Api>>(*this, module, std::move(contents));
      },
      [&] { end([&] { return api_.ModuleUnload(module); }, "while a module was unloaded"); });
}

template <class Api>
int GpuDevice<Api>::do_rank_image(std::string_view architecture, std::span<const std::byte>) const {
  return Api::rank_image(architecture, properties());
}

template <class Api>
void GpuDevice<Api>::do_synchronize() {
  const char* const operation = "Device::synchronize";
  const auto current = make_current();
  if (!api_.records_whole_device()) {
    const support::DeviceWideCall whole(operation, *this);
    check(api_, api_.DeviceSynchronize(), operation, *this);
    return;
  }
  const EventPtr done = record_all(operation, api_.sleeps_while_waiting(context()));
  const CaptureModeScope<Api> relaxed(api_);
  check(api_, api_.synchronize_event(static_cast<const GpuEvent<Api>&>(*done).native(), done->options().blocking_sync),
        operation, *this);
}

/// Records an event that completes after all present work of the device. Captures of other threads wait for this call, but
/// not for the work.
template <class Api>
EventPtr GpuDevice<Api>::record_all(const char* operation, bool blocking_sync) {
  EventPtr done = events_->take({.blocking_sync = blocking_sync});
  const support::DeviceWideCall whole(operation, *this);
  check(api_, api_.record_whole_device(context(), static_cast<const GpuEvent<Api>&>(*done).native()), operation, *this);
  return done;
}

template <class Api>
bool GpuDevice<Api>::do_synchronize_until(std::chrono::steady_clock::time_point deadline) {
  const char* const operation = "Device::synchronize_for";
  if (!api_.records_whole_device()) return DeviceImpl::do_synchronize_until(deadline);
  const auto current = make_current();
  const EventPtr done = record_all(operation, false);
  const CaptureModeScope<Api> relaxed(api_);
  for (support::DeadlinePauses pauses(deadline);;) {
    const auto result = api_.query_event(static_cast<const GpuEvent<Api>&>(*done).native());
    if (result != Api::not_ready) {
      check(api_, result, operation, *this);
      return true;
    }
    if (!pauses.next()) return false;
  }
}

/// Checks for a lost context with three calls. With an intact context they fail only with other errors; a driver that has
/// lost the context fails all three.
template <class Api>
std::optional<Error> GpuDevice<Api>::do_fault() const {
  if (!opened_.load(std::memory_order_acquire)) return {};
  const auto result = with_current([this] {
    const auto is_fault = [](typename Api::Result answer) { return Api::meaning(answer).errc == Errc::device_fault; };
    MemoryInfo info;
    auto answer = api_.MemGetInfo(&info.free, &info.total);
    if (is_fault(answer)) return answer;
    typename Api::EventHandle event = nullptr;
    answer = api_.EventCreate(&event, api_.event_flags({}));
    if (answer != Api::success) return answer;
    answer = api_.EventQuery(event);
    const auto end = api_.EventDestroy(event);
    return is_fault(answer) ? answer : end;
  });
  const Meaning meaning = Api::meaning(result);
  if (result == Api::success || meaning.errc != Errc::device_fault) return {};
  return Error(meaning.errc, "Device::health", describe(), meaning.detail, native_error(api_, result));
}

}  // namespace weir::gpu
