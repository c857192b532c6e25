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
  const std::lock_guard lock(open_mutex_);
  if (opened_.load(std::memory_order_relaxed)) return;
  check(api_, api_.open_device(ordinal(), context_), "Device", *this);
  const Current current(api_, context_);
  check(api_, api_.priority_range(priorities_.least, priorities_.greatest), "Device::priority_range", *this);
  opened_.store(true, std::memory_order_release);
}

// --- Streams ----------------------------------------------------------------------------------------------------------

template <class Api>
PriorityRange GpuDevice<Api>::do_priority_range() const {
  (void)context();
  return priorities_;
}

template <class Api>
StreamPtr GpuDevice<Api>::do_create_stream(bool blocking, int priority) {
  const auto current = make_current();
  StreamHandle handle = nullptr;
  check(api_, api_.StreamCreateWithPriority(&handle, blocking ? Api::stream_blocking : Api::stream_non_blocking, priority),
        "Device::create_stream", *this);
  return make_owner([&] { return make_ptr<GpuStream<Api>>(*this, handle, StreamKind::owned, nullptr, !blocking); },
                    [&] { log_failure(api_, api_.StreamDestroy(handle), "while a stream was destroyed", describe()); });
}

template <class Api>
StreamPtr GpuDevice<Api>::create_body_stream(std::shared_ptr<const void>& owner) {
  const auto current = make_current();
  StreamHandle handle = nullptr;
  check(api_, api_.StreamCreateWithPriority(&handle, Api::stream_non_blocking, api_.usual_priority()), "Stream::capture_if",
        *this);
  owner.reset(handle, [&api = api_](const void* h) {
    log_failure(api, api.StreamDestroy(static_cast<StreamHandle>(const_cast<void*>(h))), "while a stream was destroyed",
                "weir");
  });
  auto stream = make_ptr<GpuStream<Api>>(*this, handle, StreamKind::borrowed, owner, true);
  stream->keep_private();
  return stream;
}

template <class Api>
StreamPtr GpuDevice<Api>::do_create_default_stream() {
  (void)context();
  return make_ptr<GpuStream<Api>>(*this, api_.legacy_stream(), StreamKind::legacy_default, nullptr, false);
}

template <class Api>
StreamPtr GpuDevice<Api>::do_create_per_thread_stream() {
  (void)context();
  return make_ptr<GpuStream<Api>>(*this, api_.per_thread_stream(), StreamKind::per_thread_default, nullptr, false);
}

template <class Api>
int GpuDevice<Api>::device_of(StreamHandle stream) const {
  const Context& own = context();
  [[maybe_unused]] const typename Api::CaptureLock::Question question(capture_lock());
  return api_.device_of(stream, own);
}

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
    throw Error(
        Errc::invalid_argument, operation, describe(),
        "the handle is a stream of another context than the device's primary one (cuCtxCreate, or a green context), "
        "with which Weir's events, memory and kernels do not work; make the stream in the primary context, as the CUDA "
        "runtime does");
  }
  (void)context();
  return make_ptr<GpuStream<Api>>(*this, native, kind, std::move(keep_alive));
}

/// Frameworks pass the same few streams again and again, so their wrappers are kept.
template <class Api>
StreamPtr GpuDevice<Api>::wrap_again(StreamHandle handle, std::shared_ptr<const void>& keep_alive) {
  GpuStream<Api>* stream = nullptr;
  {
    const std::lock_guard lock(wrappers_mutex_);
    const auto kept = wrappers_.find(handle);
    if (kept != wrappers_.end()) stream = std::exchange(kept->second, nullptr);
  }
  if (stream == nullptr) return nullptr;
  if (stream->wrap_again(keep_alive)) return StreamPtr::first(stream);
  delete stream;
  return nullptr;
}

template <class Api>
bool GpuDevice<Api>::keep_wrapper(GpuStream<Api>& stream) noexcept {
  // For programs that make ever new handles: when this many are kept, all are dropped.
  constexpr std::size_t most = 256;
  std::vector<GpuStream<Api>*> dropped;
  bool is_kept = false;
  try {
    const std::lock_guard lock(wrappers_mutex_);
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
    // No memory: it is not kept.
  }
  for (GpuStream<Api>* const wrapper : dropped) delete wrapper;
  return is_kept;
}

template <class Api>
void GpuDevice<Api>::drop_wrapper(StreamHandle stream) noexcept {
  GpuStream<Api>* unused = nullptr;
  {
    const std::lock_guard lock(wrappers_mutex_);
    const auto kept = wrappers_.find(stream);
    if (kept == wrappers_.end()) return;
    unused = kept->second;
    wrappers_.erase(kept);
  }
  delete unused;
}

// --- Events -----------------------------------------------------------------------------------------------------------

template <class Api>
EventPtr GpuDevice<Api>::do_create_event(const EventOptions& options) {
  if (!options.interprocess) [[likely]] return events_->take(options);
  return own_event(options, events_->make_native(options), GpuEvent<Api>::Origin::own);
}

template <class Api>
EventPtr GpuDevice<Api>::do_open_event(const InterprocessHandle& handle) {
  const auto current = make_current();
  typename Api::EventHandle native = nullptr;
  check(api_, api_.event_from_handle(handle, native), "Device::open_event", *this);
  return own_event({.interprocess = true}, native, GpuEvent<Api>::Origin::opened);
}

template <class Api>
EventPtr GpuDevice<Api>::own_event(const EventOptions& options, typename Api::EventHandle native,
                                   typename GpuEvent<Api>::Origin origin) {
  return make_owner([&]() -> EventPtr { return make_ptr<GpuEvent<Api>>(*this, options, native, origin); },
                    [&] { end([&] { return api_.EventDestroy(native); }, "while an event was destroyed"); });
}

template <class Api>
std::shared_ptr<const std::uint64_t> GpuDevice<Api>::number_of(StreamHandle stream, StreamKind kind) {
  constexpr std::uint64_t first = std::uint64_t{1} << 63U, first_of_threads = first | first >> 1U;  // far from drivers' ids
  if (kind == StreamKind::per_thread_default) {
    // The handle stands for another stream in each thread. Without a destructor, for those of other thread-local objects.
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
    if (kind == StreamKind::legacy_default) legacy_number_ = number;  // lives as long as the device
  }
  return number;
}

template <class Api>
void GpuDevice<Api>::forget_number_of(StreamHandle stream) noexcept {
  const std::lock_guard lock(mutex_);
  stream_numbers_.erase(stream);
}

template <class Api>
std::shared_ptr<NativeStream<Api>> GpuDevice<Api>::native_stream(StreamHandle stream, StreamKind kind) {
  if constexpr (Api::remembers_records()) {
    if (api_.events_outlive_streams() || kind == StreamKind::legacy_default) return nullptr;
    // Each thread's default stream is known by the same handle.
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

template <class Api>
void* GpuDevice<Api>::do_allocate(std::size_t bytes, MemoryKind kind) {
  const auto current = make_current();
  const CaptureModeScope<Api> relaxed(api_);  // beside captures of external code; the core has checked Weir's
  void* memory = nullptr;
  const auto result = api_.allocate(memory, bytes, kind);
  if (result != Api::success) {
    fail(api_, result, "Device::allocate", describe(),
         std::to_string(bytes) + " bytes of " + std::string(to_string(kind)) + " memory: " +
             std::string(Api::meaning(result).detail));
  }
  return memory;
}

template <class Api>
void GpuDevice<Api>::do_deallocate(void* memory, MemoryKind kind) {
  const auto result = with_current([&] { return api_.deallocate(memory, kind); });
  if (!Api::is_shut_down(result)) check(api_, result, "Device::allocate (free)", *this);
}

template <class Api>
MemoryInfo GpuDevice<Api>::do_memory_info() const {
  const auto current = make_current();
  MemoryInfo info;
  check(api_, api_.MemGetInfo(&info.free, &info.total), "Device::memory_info", *this);
  return info;
}

template <class Api>
typename GpuDevice<Api>::StreamHandle GpuDevice<Api>::copy_stream() {
  const std::lock_guard lock(mutex_);
  if (copy_stream_ == nullptr) {
    check(api_, api_.StreamCreateWithPriority(&copy_stream_, Api::stream_non_blocking, api_.usual_priority()),
          "Device::copy", *this);
  }
  return copy_stream_;
}

template <class Api>
void GpuDevice<Api>::do_copy(void* destination, const void* source, std::size_t bytes) {
  // On a separate stream: the driver's blocking copy is ordered against the legacy default stream.
  const auto current = make_current();
  const CaptureModeScope<Api> relaxed(api_);  // as in do_allocate
  const StreamHandle stream = copy_stream();
  check(api_, api_.copy_async(destination, source, bytes, stream), "Device::copy", *this);
  check(api_, api_.StreamSynchronize(stream), "Device::copy", *this);
}

template <class Api>
void* GpuDevice<Api>::do_register_host(void* data, std::size_t bytes) {
  const auto current = make_current();
  const CaptureModeScope<Api> relaxed(api_);  // as in do_allocate
  void* device_pointer = nullptr;
  check(api_, api_.register_host(data, bytes, device_pointer), "Device::register_host", *this);
  return device_pointer;
}

template <class Api>
void GpuDevice<Api>::do_unregister_host(void* data) {
  const auto result = with_current([&] { return api_.MemHostUnregister(data); });
  if (!Api::is_shut_down(result)) check(api_, result, "HostRegistration", *this);
}

template <class Api>
MemoryPoolPtr GpuDevice<Api>::do_create_memory_pool(const MemoryPoolOptions& options) {
  const auto current = make_current();
  const CaptureModeScope<Api> relaxed(api_);  // as in do_allocate
  auto own = make_native_pool(options.max_size);
  const bool is_new = !own->was_used();
  const auto pool = make_ptr<GpuMemoryPool<Api>>(*this, own->handle(), std::move(own));
  add_pool(*pool);
  if (!is_new || options.release_threshold != 0) pool->set_release_threshold(options.release_threshold);
  return pool;
}

/// A driver has room for only so many pools, and a program may drop more than that before their frees are over. So if many
/// have pending frees, or the driver makes no more, one of those is used again.
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

template <class Api>
bool GpuDevice<Api>::keep_pool(NativePool<Api>& pool) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    kept_pools_.push_back({&pool, false});
  } catch (const std::bad_alloc&) {
    // It is leaked, without memory.
  }
  return trim_kept_pool(pool);
}

// Nothing goes wrong if the pool is in use again meanwhile.
template <class Api>
bool GpuDevice<Api>::trim_kept_pool(NativePool<Api>& pool) noexcept {
  if (!pool.is_idle()) return false;
  end([&] { return api_.MemPoolTrimTo(pool.handle(), 0); }, "while a memory pool was trimmed");
  const std::lock_guard lock(mutex_);
  for (KeptPool& kept : kept_pools_) kept.is_idle |= kept.pool == &pool;
  return true;
}

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

template <class Api>
MemoryPoolPtr GpuDevice<Api>::do_default_memory_pool() {
  const auto current = make_current();
  typename Api::PoolHandle handle = nullptr;
  check(api_, api_.default_pool(context(), handle), "Device::default_memory_pool", *this);
  return make_ptr<GpuMemoryPool<Api>>(*this, handle, nullptr);
}

template <class Api>
void GpuDevice<Api>::add_pool(GpuMemoryPool<Api>& pool) {
  const std::lock_guard lock(mutex_);
  for (const GpuDevice* reader : readers_) {
    check(api_, api_.set_pool_access(pool.native(), reader->context(), true), "Device::create_memory_pool", *this);
  }
  pools_.push_back(&pool);
}

template <class Api>
void GpuDevice<Api>::remove_pool(GpuMemoryPool<Api>& pool) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(pools_, &pool);
}

template <class Api>
void GpuDevice<Api>::note_memory(void* memory, const std::shared_ptr<NativePool<Api>>& pool) {
  const std::lock_guard lock(pool_memory_mutex_);
  pool_memory_.insert_or_assign(memory, pool);
  pool_memory_count_.store(pool_memory_.size(), std::memory_order_relaxed);
}

template <class Api>
std::shared_ptr<NativePool<Api>> GpuDevice<Api>::forget_memory(void* memory) noexcept {
  const std::lock_guard lock(pool_memory_mutex_);
  const auto found = pool_memory_.find(memory);
  if (found == pool_memory_.end()) return nullptr;
  auto pool = std::move(found->second);
  pool_memory_.erase(found);
  pool_memory_count_.store(pool_memory_.size(), std::memory_order_relaxed);
  return pool;
}

template <class Api>
InterprocessHandle GpuDevice<Api>::do_interprocess_handle(const Allocation& allocation) const {
  const auto current = make_current();
  InterprocessHandle handle;
  check(api_, api_.memory_to_handle(allocation.data(), handle), "Device::interprocess_handle", *this);
  return handle;
}

template <class Api>
void* GpuDevice<Api>::do_open_memory(const InterprocessHandle& handle) {
  const auto current = make_current();
  void* memory = nullptr;
  check(api_, api_.memory_from_handle(handle, memory), "Device::open_allocation", *this);
  return memory;
}

template <class Api>
void GpuDevice<Api>::do_close_memory(void* memory) {
  const auto result = with_current([&] { return api_.close_memory(memory); });
  if (!Api::is_shut_down(result)) check(api_, result, "Device::open_allocation (close)", *this);
}

// --- Peers ------------------------------------------------------------------------------------------------------------

template <class Api>
bool GpuDevice<Api>::do_can_access_peer(const Device& peer) const {
  bool can = false;
  check(api_, api_.can_access_peer(ordinal(), peer.ordinal(), can), "Device::can_access_peer", *this);
  return can;
}

template <class Api>
void GpuDevice<Api>::do_enable_peer_access(const Device& peer) {
  // Only the peer's list of readers changes.
  auto& owner = const_cast<GpuDevice&>(static_cast<const GpuDevice&>(peer));
  {
    const auto current = make_current();
    const std::lock_guard lock(mutex_);
    // Other code may have enabled it. Then Weir must not disable it.
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
void GpuDevice<Api>::do_disable_peer_access(const Device& peer) {
  auto& owner = const_cast<GpuDevice&>(static_cast<const GpuDevice&>(peer));
  {
    const auto current = make_current();
    const std::lock_guard lock(mutex_);
    if (const auto mine = std::find(enabled_peers_.begin(), enabled_peers_.end(), &owner); mine != enabled_peers_.end()) {
      check(api_, api_.disable_peer(owner.context()), "Device::disable_peer_access", *this);
      enabled_peers_.erase(mine);
    }
  }
  owner.admit(*this, false);
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
ModulePtr GpuDevice<Api>::do_load_module(std::span<const std::byte> image) {
  return load(Program::from_image(image), {});
}

template <class Api>
ModulePtr GpuDevice<Api>::load(const Program& program, ModuleContents&& contents) {
  const std::span<const std::byte> image = program.image;
  // PTX needs a terminating null; other images ignore it.
  std::string copy(reinterpret_cast<const char*>(image.data()), image.size());
  const auto current = make_current();
  typename Api::ModuleHandle module = nullptr;
  std::string log;
  const auto result = api_.load_module(module, copy.c_str(), log);
  if (result != Api::success) {
    const std::string detail(Api::meaning(result).detail);
    throw Error(
        Api::meaning(result).errc == Errc::out_of_memory ? Errc::out_of_memory : Errc::invalid_image, "Device::load_module",
        describe(),
        detail + " (this device is " + properties().architecture + ")" + (log.empty() ? "" : "; the driver says: " + log),
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
void GpuDevice<Api>::unload(typename Api::ModuleHandle module) const noexcept {
  const auto unload = [this, module] {
    end([this, module] { return api_.ModuleUnload(module); }, "while a module was unloaded");
    return true;
  };
  if (has_work_that_waits_.load(std::memory_order_relaxed) && support::reclaim_module(unload)) return;
  (void)unload();
}

template <class Api>
ModulePtr GpuDevice<Api>::do_compile(std::string_view source, const CompileOptions& options) {
  return load(api_.compile(*this, source, options), {});
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
  // Other threads' captures wait for the record only, not for the work.
  const EventPtr done = events_->take({.blocking_sync = api_.sleeps_while_waiting(context())});
  const auto native = static_cast<const GpuEvent<Api>&>(*done).native();
  {
    const support::DeviceWideCall whole(operation, *this);
    check(api_, api_.record_whole_device(context(), native), operation, *this);
  }
  const CaptureModeScope<Api> relaxed(api_);
  check(api_, api_.synchronize_event(native, done->options().blocking_sync), operation, *this);
}

/// Asks three things that fail by themselves in other ways: a driver that has lost a context answers nothing else.
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

// --- Conditional nodes ------------------------------------------------------------------------------------------------

template <class Api>
ConditionalKernel<Api>& GpuDevice<Api>::conditional_kernel() {
  const auto current = make_current();
  const std::lock_guard lock(mutex_);
  if (!conditional_kernel_) {
    const CaptureModeScope<Api> relaxed(api_);
    conditional_kernel_ = std::make_unique<ConditionalKernel<Api>>(api_, *this);
  }
  return *conditional_kernel_;
}

}  // namespace weir::gpu
