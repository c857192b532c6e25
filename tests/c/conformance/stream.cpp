// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tests/c/conformance/through_c.hpp"

// Streams and events over the C interface.
namespace weir {

using namespace through_c;

// --- Events -------------------------------------------------------------------------------------------------------------

bool Event::is_complete() const { return told<bool>(weir_event_query, this); }
void Event::synchronize() const { call(weir_event_synchronize, this); }
bool Event::synchronize_for(Timeout timeout) const {
  return told<bool>(weir_event_synchronize_for, this, timeout.nanoseconds().count());
}
std::chrono::duration<double, std::milli> Event::elapsed_since(EventRef start) const {
  return std::chrono::duration<double, std::milli>(told<double>(weir_event_elapsed_time, start, this));
}
InterprocessHandle Event::interprocess_handle() const {
  return opened(told<weir_interprocess_handle>(weir_event_get_interprocess_handle, this));
}
std::string Event::describe() const { return text(weir_event_describe, this); }

// --- Identity and ending ------------------------------------------------------------------------------------------------

void* Stream::share_native_handle() { return told<void*>(weir_stream_share_native_handle, this); }
void* Stream::native_context() const { return told<void*>(weir_stream_native_context, this); }
std::uint64_t Stream::id() const { return told<std::uint64_t>(weir_stream_id, this); }
bool Stream::is_non_blocking() const { return told<bool>(weir_stream_is_non_blocking, this); }
int Stream::priority() const { return told<int>(weir_stream_get_priority, this); }
bool Stream::is_closed() const noexcept { return weir_stream_is_closed(handle(this)); }
std::string Stream::describe() const { return text(weir_stream_describe, this); }
bool operator==(const Stream& a, const Stream& b) noexcept { return weir_stream_compare(in_c(a), in_c(b)) == 0; }
std::strong_ordering operator<=>(const Stream& a, const Stream& b) noexcept {
  return weir_stream_compare(in_c(a), in_c(b)) <=> 0;
}
bool operator==(StreamRef a, StreamRef b) noexcept { return weir_stream_compare(in_c(a), in_c(b)) == 0; }
std::strong_ordering operator<=>(StreamRef a, StreamRef b) noexcept {
  return weir_stream_compare(in_c(a), in_c(b)) <=> 0;
}
std::size_t Stream::hash() const noexcept { return weir_stream_hash(handle(this)); }
std::ostream& operator<<(std::ostream& out, const Stream& stream) { return out << stream.describe(); }
void Stream::close() { call(weir_stream_close, this); }
void* Stream::release_handle() { return told<void*>(weir_stream_release_handle, this); }

// --- Order --------------------------------------------------------------------------------------------------------------

void Stream::synchronize() { call(weir_stream_synchronize, this); }
bool Stream::is_complete() const { return told<bool>(weir_stream_query, this); }
bool Stream::synchronize_for(Timeout timeout) {
  return told<bool>(weir_stream_synchronize_for, this, timeout.nanoseconds().count());
}
EventPtr Stream::record(const EventOptions& options) { return made<Event>(weir_stream_record, this, flags_of(options)); }
void Stream::record(Ref<Event> event) { call(weir_event_record, event, this); }
void Stream::record_external(Ref<Event> event) { call(weir_event_record_external, event, this); }
void Stream::wait(EventRef event) { call(weir_stream_wait_event, this, event); }
void Stream::wait_external(EventRef event) { call(weir_stream_wait_event_external, this, event); }
void Stream::wait(StreamRef other) { call(weir_stream_wait_stream, this, other); }

// --- Host work ----------------------------------------------------------------------------------------------------------

namespace {

void call_function(void* data) { (*static_cast<HostFunction*>(data))(); }
void delete_function(void* data) { delete static_cast<HostFunction*>(data); }

}  // namespace

void Stream::launch_host_function(HostFunction function) {
  const bool is_empty = !function;
  call(weir_stream_launch_host_function, this, is_empty ? nullptr : call_function, delete_function,
       new HostFunction(std::move(function)));
}
void Stream::launch_host_function(HostFunction function, const HostFunctionOptions& options) {
  const std::string name(options.name);
  const bool is_empty = !function;
  call(weir_stream_launch_named_host_function, this, name.c_str(), is_empty ? nullptr : call_function, delete_function,
       new HostFunction(std::move(function)));
}
void Stream::add_callback(StreamCallback callback) {
  const bool is_empty = !callback;
  const auto call = [](weir_stream* stream, weir_result status, void* data) {
    const auto code = status == WEIR_SUCCESS ? std::error_code() : make_error_code(errc_of(status));
    (*static_cast<StreamCallback*>(data))(*reinterpret_cast<Stream*>(stream), code);
  };
  need(weir_stream_add_callback(
      handle(this), is_empty ? nullptr : +call, [](void* data) { delete static_cast<StreamCallback*>(data); },
      new StreamCallback(std::move(callback))));
}

// --- Copies and fills ---------------------------------------------------------------------------------------------------

void Stream::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  call(weir_stream_copy, this, destination, source, bytes);
}
void detail::read_bytes(Stream& stream, void* destination, const void* source, std::size_t bytes) {
  call(weir_stream_read, stream, destination, source, bytes);
}
namespace {

weir_pitched box_of(const detail::PitchedBytes& bytes) {
  return {bytes.data, bytes.width, bytes.height, bytes.depth, bytes.row_pitch, bytes.slice_pitch};
}

}  // namespace

void Stream::copy_pitched(const detail::PitchedBytes& to, const detail::PitchedBytes& from) {
  const weir_pitched destination = box_of(to), source = box_of(from);
  call(weir_stream_copy_pitched, this, &destination, &source);
}
void Stream::copy_batch(std::span<const BatchCopy> copies, SourceAccess access) {
  std::vector<weir_batch_copy> batch;
  for (const BatchCopy& copy : copies) batch.push_back({copy.destination, copy.source, copy.bytes});
  call(weir_stream_copy_batch, this, batch.data(), batch.size(), access);
}
void Stream::copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                       std::size_t bytes) {
  call(weir_stream_copy_peer, this, destination, destination_device, source, source_device, bytes);
}
void detail::fill_elements(Stream& stream, void* destination, std::uint32_t value, std::size_t element_size,
                           std::size_t count) {
  call(weir_stream_fill, stream, destination, value, element_size, count);
}
void detail::fill_pattern(Stream& stream, void* destination, const void* element, std::size_t element_size,
                          std::size_t alignment, std::size_t count) {
  call(weir_stream_fill_pattern, stream, destination, element, element_size, alignment, count);
}
void Stream::fill_pitched(const detail::PitchedBytes& to, std::uint32_t value, std::size_t element_size) {
  const weir_pitched destination = box_of(to);
  call(weir_stream_fill_pitched, this, &destination, value, element_size);
}

// --- Memory -------------------------------------------------------------------------------------------------------------

AllocationPtr Stream::allocate_bytes_async(std::size_t bytes, MemoryPoolRef pool) {
  return made<Allocation>(weir_allocation_create_async, this, bytes, pool);
}
void Stream::attach_memory(AllocationRef managed, AttachMode mode) { call(weir_stream_attach_memory, this, managed, mode); }
void Stream::prefetch(AllocationRef managed, std::size_t offset, std::size_t bytes, PrefetchTarget target) {
  call(weir_stream_prefetch, this, managed, offset, bytes, target);
}

namespace {

std::uint32_t flags_of_wait(RemoteWrites remote) {
  return remote == RemoteWrites::no_flush ? WEIR_WAIT_DEFAULT : remote == RemoteWrites::flush ? WEIR_WAIT_FLUSH : 99U;
}

}  // namespace

void Stream::memory_operation(const MemoryOperation& operation) {
  const auto flags = flags_of_wait(operation.remote_writes);
  const WaitCondition condition = operation.condition;
  auto* const word = static_cast<std::uint32_t*>(operation.address);
  auto* const wide = static_cast<std::uint64_t*>(operation.address);
  const auto value = static_cast<std::uint32_t>(operation.value);
  switch (operation.kind) {
    case MemoryOperation::Kind::write_32: return call(weir_stream_write_value32, this, word, value);
    case MemoryOperation::Kind::write_64: return call(weir_stream_write_value64, this, wide, operation.value);
    case MemoryOperation::Kind::wait_32: return call(weir_stream_wait_value32, this, word, value, condition, flags);
    case MemoryOperation::Kind::wait_64:
      return call(weir_stream_wait_value64, this, wide, operation.value, condition, flags);
    case MemoryOperation::Kind::flush_remote_writes: break;
  }
  batch_memory_operations({&operation, 1});
}

void Stream::batch_memory_operations(std::span<const MemoryOperation> operations) {
  std::vector<weir_memory_operation> all;
  for (const MemoryOperation& operation : operations) {
    all.push_back({static_cast<weir_memory_operation_kind>(operation.kind),
                   static_cast<weir_wait_condition>(operation.condition), flags_of_wait(operation.remote_writes), 0,
                   operation.address, operation.value});
  }
  call(weir_stream_batch_memory_operations, this, all.data(), all.size());
}

// --- Launches -----------------------------------------------------------------------------------------------------------

void Stream::launch_raw(KernelRef kernel, const LaunchConfig& config, std::span<void* const> arguments,
                        std::span<const Parameter> parameters, std::span<const MemoryAccess>) {
  const auto c = shape_of(config);
  const std::vector<std::size_t> sizes = sizes_of(parameters);
  call(weir_stream_launch, this, kernel, &c, arguments.data(), sizes.data(), sizes.size());
}
void Stream::launch_packed(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                           const std::span<const Parameter>& parameters) {
  const auto c = shape_of(config);
  const std::vector<std::size_t> sizes = sizes_of(parameters);
  std::vector<weir_argument_kind> kinds;
  for (const Parameter& parameter : parameters) {
    kinds.push_back(parameter.kind == ParameterKind::address    ? WEIR_ARGUMENT_ADDRESS
                    : parameter.kind == ParameterKind::floating ? WEIR_ARGUMENT_FLOATING
                    : parameter.kind == ParameterKind::integer  ? WEIR_ARGUMENT_INTEGER
                    : parameter.kind == ParameterKind::unknown  ? WEIR_ARGUMENT_OPAQUE
                                                                : WEIR_ARGUMENT_VALUE);
  }
  call(weir_stream_launch_typed, this, &kernel, &c, arguments, sizes.data(), kinds.data(), kinds.size());
}

// --- Attributes ---------------------------------------------------------------------------------------------------------

SynchronizationPolicy Stream::synchronization_policy() const {
  return static_cast<SynchronizationPolicy>(told<weir_synchronization_policy>(weir_stream_get_synchronization_policy, this));
}
void Stream::set_synchronization_policy(SynchronizationPolicy policy) {
  call(weir_stream_set_synchronization_policy, this, policy);
}
AccessPolicyWindow Stream::access_policy_window() const {
  auto c = sized<weir_access_policy_window>();
  call(weir_stream_get_access_policy_window, this, &c);
  return {c.base, c.size_bytes, c.hit_ratio, static_cast<AccessProperty>(c.hit), static_cast<AccessProperty>(c.miss)};
}
void Stream::set_access_policy_window(const AccessPolicyWindow& window) {
  auto c = sized<weir_access_policy_window>();
  c.base = window.base;
  c.size_bytes = window.size_bytes;
  c.hit_ratio = window.hit_ratio;
  c.hit = static_cast<weir_access_property>(window.hit);
  c.miss = static_cast<weir_access_property>(window.miss);
  call(weir_stream_set_access_policy_window, this, &c);
}
void Stream::copy_attributes(StreamRef other) { call(weir_stream_copy_attributes, this, other); }

}  // namespace weir
