// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "bindings/c/convert.hpp"
#include "weir/device.hpp"

// The C interface: copies, fills, managed memory, and writes of and waits for values (weir/c/stream_memory.h).
namespace weir::c {
namespace {

static_assert(static_cast<unsigned>(AttachMode::single) == WEIR_ATTACH_SINGLE);
static_assert(static_cast<unsigned>(PrefetchTarget::host) == WEIR_PREFETCH_HOST);
static_assert(static_cast<unsigned>(WaitCondition::bit_nor) == WEIR_WAIT_NOR);
static_assert(static_cast<unsigned>(MemoryOperation::Kind::flush_remote_writes) == WEIR_FLUSH_REMOTE_WRITES);

WaitCondition condition_of(weir_wait_condition condition) {
  return enumerator(condition, WaitCondition::bit_nor, "condition");
}

RemoteWrites remote_writes(std::uint32_t flags) {
  check_flags(flags, WEIR_WAIT_FLUSH, "flags");
  return (flags & WEIR_WAIT_FLUSH) != 0 ? RemoteWrites::flush : RemoteWrites::no_flush;
}

MemoryOperation operation_of(const weir_memory_operation& given) {
  const auto kind = enumerator(given.kind, MemoryOperation::Kind::flush_remote_writes, "operations->kind");
  return {kind, condition_of(given.condition), remote_writes(given.flags), given.address, given.value};
}

/// Converts a box of bytes to a box of elements. Throws `invalid_argument` if a row does not contain a whole number of
/// elements.
template <class E>
PitchedSpan<E> span_of(const weir_pitched* given, const char* name) {
  const weir_pitched& box = output(given, name);
  if (box.width % sizeof(E) != 0) {
    throw_invalid(std::string(name) + "->width: rows of " + std::to_string(box.width) +
                  " bytes hold no whole number of elements of " + std::to_string(sizeof(E)));
  }
  return {static_cast<E*>(box.data), {box.width / sizeof(E), box.height, box.depth}, box.row_pitch, box.slice_pitch};
}

}  // namespace

weir_memory_operation operation_of(const MemoryOperation& operation) noexcept {
  weir_memory_operation all{};
  all.kind = static_cast<weir_memory_operation_kind>(operation.kind);
  all.condition = static_cast<weir_wait_condition>(operation.condition);
  all.flags = operation.remote_writes == RemoteWrites::flush ? WEIR_WAIT_FLUSH : WEIR_WAIT_DEFAULT;
  all.address = operation.address;
  all.value = operation.value;
  return all;
}

}  // namespace weir::c

using namespace weir::c;

// --- Copies and fills ---------------------------------------------------------------------------------------------------

weir_result weir_stream_copy(weir_stream* stream, void* destination, const void* source, size_t bytes) {
  return call(__func__, [&] { required(stream, "stream").copy_bytes(destination, source, bytes); });
}

weir_result weir_stream_read(weir_stream* stream, void* destination, const void* source, size_t bytes) {
  return call(__func__, [&] { weir::detail::read_bytes(required(stream, "stream"), destination, source, bytes); });
}

weir_result weir_stream_copy_pitched(weir_stream* stream, const weir_pitched* destination, const weir_pitched* source) {
  return call(__func__, [&] {
    required(stream, "stream").copy(span_of<std::byte>(destination, "destination"), span_of<std::byte>(source, "source"));
  });
}

weir_result weir_stream_copy_batch(weir_stream* stream, const weir_batch_copy* copies, size_t count,
                                   weir_source_access access) {
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    const auto order = enumerator(access, weir::SourceAccess::any_time, "access");
    const weir_batch_copy* const first = elements(copies, count, "copies");
    std::vector<weir::BatchCopy> batch;
    for (std::size_t i = 0; i < count; ++i) batch.push_back({first[i].destination, first[i].source, first[i].bytes});
    target.copy_batch(batch, order);
  });
}

weir_result weir_stream_copy_peer(weir_stream* stream, void* destination, const weir_device* destination_device,
                                  const void* source, const weir_device* source_device, size_t bytes) {
  return call(__func__, [&] {
    required(stream, "stream")
        .copy_peer(destination, required(destination_device, "destination_device"), source,
                   required(source_device, "source_device"), bytes);
  });
}

weir_result weir_stream_fill(weir_stream* stream, void* destination, uint32_t value, size_t element_size, size_t count) {
  return call(__func__,
              [&] { weir::detail::fill_elements(required(stream, "stream"), destination, value, element_size, count); });
}

weir_result weir_stream_fill_pattern(weir_stream* stream, void* destination, const void* element, size_t element_size,
                                     size_t alignment, size_t count) {
  return call(__func__, [&] {
    weir::detail::fill_pattern(required(stream, "stream"), destination, element, element_size, alignment, count);
  });
}

weir_result weir_stream_fill_pitched(weir_stream* stream, const weir_pitched* destination, uint32_t value,
                                     size_t element_size) {
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    switch (element_size) {
      case 1: return target.fill(span_of<std::uint8_t>(destination, "destination"), static_cast<std::uint8_t>(value));
      case 2: return target.fill(span_of<std::uint16_t>(destination, "destination"), static_cast<std::uint16_t>(value));
      case 4: return target.fill(span_of<std::uint32_t>(destination, "destination"), value);
      default:
        throw_invalid("elements of " + std::to_string(element_size) + " bytes; fills write elements of 1, 2 or 4 bytes");
    }
  });
}

// --- Managed memory -----------------------------------------------------------------------------------------------------

weir_result weir_stream_attach_memory(weir_stream* stream, const weir_allocation* managed, weir_attach_mode mode) {
  return call(__func__, [&] {
    const auto wanted = enumerator(mode, weir::AttachMode::single, "mode");
    required(stream, "stream").attach_memory(weir::AllocationRef(required(managed, "managed")), wanted);
  });
}

weir_result weir_stream_prefetch(weir_stream* stream, const weir_allocation* managed, size_t offset, size_t bytes,
                                 weir_prefetch_target target) {
  return call(__func__, [&] {
    const auto wanted = enumerator(target, weir::PrefetchTarget::host, "target");
    required(stream, "stream").prefetch(required(managed, "managed"), offset, bytes, wanted);
  });
}

// --- Values -------------------------------------------------------------------------------------------------------------

weir_result weir_stream_write_value32(weir_stream* stream, uint32_t* address, uint32_t value) {
  return call(__func__, [&] { required(stream, "stream").write_value(address, value); });
}

weir_result weir_stream_write_value64(weir_stream* stream, uint64_t* address, uint64_t value) {
  return call(__func__, [&] { required(stream, "stream").write_value(address, value); });
}

weir_result weir_stream_wait_value32(weir_stream* stream, const uint32_t* address, uint32_t value,
                                     weir_wait_condition condition, uint32_t flags) {
  return call(__func__,
              [&] { required(stream, "stream").wait_value(address, value, condition_of(condition), remote_writes(flags)); });
}

weir_result weir_stream_wait_value64(weir_stream* stream, const uint64_t* address, uint64_t value,
                                     weir_wait_condition condition, uint32_t flags) {
  return call(__func__,
              [&] { required(stream, "stream").wait_value(address, value, condition_of(condition), remote_writes(flags)); });
}

weir_result weir_stream_batch_memory_operations(weir_stream* stream, const weir_memory_operation* operations, size_t count) {
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    elements(operations, count, "operations");
    std::vector<weir::MemoryOperation> all;
    all.reserve(count);
    for (std::size_t i = 0; i < count; ++i) all.push_back(operation_of(operations[i]));
    target.batch_memory_operations(all);
  });
}
