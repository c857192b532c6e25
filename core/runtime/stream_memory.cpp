// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

// The functions of `Stream` for copies, fills, managed memory and memory operations.
namespace weir {

namespace {

bool aligned(const void* address, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

// --- Copies and fills -------------------------------------------------------------------------------------------------

namespace {

/// Throws for a null address. Returns false if `bytes` is 0, so that there is nothing to copy.
bool check_copy(StreamCall call, const void* destination, const void* source, std::size_t bytes) {
  if (bytes == 0) return false;
  call.check_bytes(bytes);
  if (destination == nullptr || source == nullptr) [[unlikely]]
    call.throw_error(Errc::invalid_argument, destination == nullptr ? "the destination is null" : "the source is null");
  return true;
}

struct Copy {
  static constexpr OperationKind kind = OperationKind::copy;
  static constexpr Capturing capturing = Capturing::by_driver;
  void* destination;
  const void* source;
  std::size_t bytes;

  [[gnu::always_inline]] bool validate(const StreamCall& call) const { return check_copy(call, destination, source, bytes); }
  void describe(ToolNotice& notice) const { notice.reads(source, bytes).writes(destination, bytes); }
  void enqueue(StreamImpl& stream, const CaptureState&) const { stream.do_copy(destination, source, bytes); }
};

using detail::PitchedBytes;

/// Throws if rows or slices of a box overlap, or if the slice pitch is not a multiple of the row pitch. `side`: "the
/// destination" or "the source", for the error.
void check_box(StreamCall call, const PitchedBytes& box, const char* side) {
  const auto throw_error = [&](const std::string& cause) { call.throw_error(Errc::invalid_argument, side + cause); };
  if (box.data == nullptr) throw_error(" is null");
  call.check_bytes(box.height, box.row_pitch);
  call.check_bytes(box.depth, box.slice_pitch);
  if ((box.height > 1 || box.depth > 1) && box.row_pitch < box.width) {
    throw_error(": rows of " + std::to_string(box.width) + " bytes overlap at a pitch of " + std::to_string(box.row_pitch));
  }
  if (box.depth > 1 && (box.slice_pitch < box.row_pitch * box.height || box.slice_pitch % box.row_pitch != 0)) {
    throw_error(": slices of " + std::to_string(box.height) + " rows at a pitch of " + std::to_string(box.row_pitch) +
                " bytes cannot be " + std::to_string(box.slice_pitch) +
                " bytes apart; use a multiple of the pitch that is large enough for all rows");
  }
}

PitchedCopy::Side side_of(const PitchedBytes& box) noexcept {
  const std::size_t pitch = std::max(box.row_pitch, box.width);  // for a single row, the pitch may be less than the width
  return {static_cast<std::byte*>(box.data), pitch, box.depth > 1 ? box.slice_pitch / pitch : box.height};
}

/// Reports a box to tools as one access for each slice.
void tell_slices(ToolNotice& notice, const PitchedBytes& box, AccessKind kind) {
  for (std::size_t z = 0; z < box.depth; ++z) {
    notice.touches(
        {static_cast<const std::byte*>(box.data) + z * box.slice_pitch, box.width, kind, box.row_pitch, box.height});
  }
}

struct CopyPitched {
  static constexpr OperationKind kind = OperationKind::copy;
  static constexpr Capturing capturing = Capturing::by_driver;
  const PitchedBytes& to;
  const PitchedBytes& from;

  bool validate(const StreamCall& call) const {
    if (to.width != from.width || to.height != from.height || to.depth != from.depth) {
      const auto text = [](const PitchedBytes& box) {
        return std::to_string(box.depth) + " slices of " + std::to_string(box.height) + " rows of " +
               std::to_string(box.width) + " bytes";
      };
      call.throw_error(Errc::length_mismatch, "the destination has " + text(to) + ", but the source has " + text(from));
    }
    if (to.empty()) return false;
    check_box(call, to, "the destination");
    check_box(call, from, "the source");
    return true;
  }
  void describe(ToolNotice& notice) const {
    tell_slices(notice, from, AccessKind::read);
    tell_slices(notice, to, AccessKind::write);
  }
  void enqueue(StreamImpl& stream, const CaptureState&) const {
    stream.do_copy_pitched({side_of(to), side_of(from), to.width, to.height, to.depth});
  }
};

struct CopyBatch {
  static constexpr OperationKind kind = OperationKind::copy;
  static constexpr Capturing capturing = Capturing::node;
  std::span<const BatchCopy> copies;
  SourceAccess access;

  bool validate(const StreamCall& call) const {
    call.require(Feature::batch_copies);
    call.check_enumerator("SourceAccess", access, SourceAccess::any_time);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const BatchCopy& copy = copies[i];
      call.check_bytes(copy.bytes);
      if (copy.bytes != 0 && (copy.destination == nullptr || copy.source == nullptr)) {
        call.throw_error(Errc::invalid_argument,
                         std::string(copy.destination == nullptr ? "the destination" : "the source") + " of copy " +
                             std::to_string(i) + " of the batch is null");
      }
    }
    return std::ranges::any_of(copies, [](const BatchCopy& copy) { return copy.bytes != 0; });
  }
  void describe(ToolNotice& notice) const {
    notice->reads_any_time = access == SourceAccess::any_time;
    for (const BatchCopy& copy : copies) {
      if (copy.bytes != 0) notice.reads(copy.source, copy.bytes).writes(copy.destination, copy.bytes);
    }
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_copy_batch(copies, access, capture); }
};

struct PeerCopy {
  static constexpr OperationKind kind = OperationKind::copy;
  static constexpr Capturing capturing = Capturing::by_driver;
  void* destination;
  const Device& destination_device;
  const void* source;
  const Device& source_device;
  std::size_t bytes;

  bool validate(const StreamCall& call) const {
    for (const Device* device : {&destination_device, &source_device}) {
      if (&device->backend() != &call.device().backend()) {
        call.throw_error(Errc::wrong_device, device->describe() + " is of another backend; copy through host memory");
      }
    }
    return check_copy(call, destination, source, bytes);
  }
  void describe(ToolNotice& notice) const { notice.reads(source, bytes).writes(destination, bytes); }
  void enqueue(StreamImpl& stream, const CaptureState&) const {
    stream.do_copy_peer(destination, destination_device, source, source_device, bytes);
  }
};

}  // namespace

void Stream::copy_bytes(void* destination, const void* source, std::size_t bytes) {
  submit(*this, "Stream::copy", Copy{destination, source, bytes});
}

void detail::read_bytes(Stream& stream, void* destination, const void* source, std::size_t bytes) {
  const StreamCall call(stream, "Stream::read");
  call.check_host_wait();
  const Copy copy{destination, source, bytes};
  if (copy.validate(call)) perform(stream, "Stream::copy", {}, copy);
  // Do not throw before the copy is done: the caller would then free memory to which the driver still writes.
  try {
    wait_on_host(stream);
  } catch (...) {
    if (StreamCore::is_watched(stream)) impl(stream).do_synchronize();  // a tool may have thrown before the wait
    throw;
  }
}

void Stream::copy_pitched(const PitchedBytes& to, const PitchedBytes& from) {
  submit(*this, "Stream::copy", CopyPitched{to, from});
}

void Stream::copy_batch(std::span<const BatchCopy> copies, SourceAccess access) {
  submit(*this, "Stream::copy_batch", CopyBatch{copies, access});
}

void Stream::copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                       std::size_t bytes) {
  submit(*this, "Stream::copy_peer", PeerCopy{destination, destination_device, source, source_device, bytes});
}

namespace {

/// Throws unless elements have 1, 2 or 4 bytes and the destination is aligned to them, as the driver's memset requires.
[[gnu::always_inline]] inline void check_elements(const StreamCall& call, const void* destination,
                                                  std::size_t element_size) {
  if (element_size != 1 && element_size != 2 && element_size != 4) {
    call.throw_error(Errc::invalid_argument, "elements of " + std::to_string(element_size) +
                                                 " bytes cannot be filled; fills write elements of 1, 2 or 4 bytes");
  }
  if (!aligned(destination, element_size)) {
    call.throw_error(Errc::invalid_argument, "the destination must be aligned to the size of an element, " +
                                                 std::to_string(element_size) + " bytes");
  }
}

void tell_element(ToolNotice& notice, const std::uint32_t& value, std::size_t element_size) {
  notice->element = std::as_bytes(std::span(&value, 1)).first(element_size);
  notice->word_size = static_cast<std::uint32_t>(element_size);
}

struct Fill {
  static constexpr OperationKind kind = OperationKind::fill;
  static constexpr Capturing capturing = Capturing::by_driver;
  void* destination;
  std::uint32_t value;
  std::size_t element_size;
  std::size_t count;

  [[gnu::always_inline]] bool validate(const StreamCall& call) const {
    check_elements(call, destination, element_size);
    if (count == 0) return false;
    if (destination == nullptr) call.throw_error(Errc::invalid_argument, "the destination is null");
    call.check_bytes(count, element_size);
    return true;
  }
  void describe(ToolNotice& notice) const {
    tell_element(notice, value, element_size);
    notice.writes(destination, element_size * count);
  }
  void enqueue(StreamImpl& stream, const CaptureState&) const { stream.do_fill(destination, value, element_size, count); }
};

struct FillPitched {
  static constexpr OperationKind kind = OperationKind::fill;
  static constexpr Capturing capturing = Capturing::by_driver;
  const PitchedBytes& to;
  std::uint32_t value;
  std::size_t element_size;

  bool validate(const StreamCall& call) const {
    if (to.empty()) return false;
    check_elements(call, to.data, element_size);
    check_box(call, to, "the destination");
    if ((to.height > 1 || to.depth > 1) && to.row_pitch % element_size != 0) {
      call.throw_error(Errc::invalid_argument,
                       "the pitch must be a multiple of the size of an element, " + std::to_string(element_size) + " bytes");
    }
    return true;
  }
  void describe(ToolNotice& notice) const {
    tell_element(notice, value, element_size);
    tell_slices(notice, to, AccessKind::write);
  }
  void enqueue(StreamImpl& stream, const CaptureState&) const {
    const bool is_dense = to.depth == 1 || to.slice_pitch == to.row_pitch * to.height;
    const std::size_t width = to.width / element_size;
    const std::size_t rows = is_dense ? to.height * to.depth : to.height;
    auto* slice = static_cast<std::byte*>(to.data);
    for (std::size_t z = 0; z < (is_dense ? 1 : to.depth); ++z, slice += to.slice_pitch) {
      if (rows == 1) {
        stream.do_fill(slice, value, element_size, width);
      } else {
        stream.do_fill_2d(slice, to.row_pitch, value, element_size, width, rows);
      }
    }
  }
};

}  // namespace

namespace {

/// A fill with elements of any size. If all words of the element are equal, uses one memset; otherwise one strided memset
/// for each word.
struct FillPattern {
  static constexpr OperationKind kind = OperationKind::fill;
  static constexpr Capturing capturing = Capturing::by_driver;
  void* destination;
  const std::byte* element;
  std::size_t element_size;
  std::size_t word_size;
  std::size_t count;

  bool validate(const StreamCall& call) const {
    if (count == 0 || element_size == 0) return false;
    if (destination == nullptr || element == nullptr) call.throw_error(Errc::invalid_argument, "an address is null");
    if (!aligned(destination, word_size))
      call.throw_error(Errc::invalid_argument, "the destination must be aligned to " + std::to_string(word_size) + " bytes");
    call.check_bytes(count, element_size);
    return true;
  }
  std::uint32_t word(std::size_t offset) const noexcept {
    std::uint32_t bits = 0;
    std::memcpy(&bits, element + offset, word_size);
    return bits;
  }
  void describe(ToolNotice& notice) const {
    notice->element = {element, element_size};
    notice->word_size = static_cast<std::uint32_t>(word_size);
    notice.writes(destination, count * element_size);
  }
  void enqueue(StreamImpl& stream, const CaptureState&) const {
    bool uniform = true;
    for (std::size_t i = word_size; i < element_size; i += word_size) uniform &= word(i) == word(0);
    if (uniform) return stream.do_fill(destination, word(0), word_size, count * (element_size / word_size));
    for (std::size_t i = 0; i < element_size; i += word_size) {
      stream.do_fill_2d(static_cast<std::byte*>(destination) + i, element_size, word(i), word_size, 1, count);
    }
  }
};

}  // namespace

void detail::fill_pattern(Stream& stream, void* destination, const void* element, std::size_t element_size,
                          std::size_t alignment, std::size_t count) {
  const std::size_t common = element_size | alignment | 4;
  submit(stream, "Stream::fill",
         FillPattern{destination, static_cast<const std::byte*>(element), element_size, common & (~common + 1), count});
}

void detail::fill_elements(Stream& stream, void* destination, std::uint32_t value, std::size_t element_size,
                           std::size_t count) {
  submit(stream, "Stream::fill", Fill{destination, value, element_size, count});
}

void Stream::fill_pitched(const PitchedBytes& to, std::uint32_t value, std::size_t element_size) {
  submit(*this, "Stream::fill", FillPitched{to, value, element_size});
}

// --- Memory operations ------------------------------------------------------------------------------------------------

namespace {

/// Calls `has` for each feature that an operation needs. Returns whether all results are true.
template <class Has>
bool has_all_needed(const MemoryOperation& op, Has&& has) {
  switch (op.kind) {
    case MemoryOperation::Kind::write_32: return has(Feature::write_value_32);
    case MemoryOperation::Kind::write_64: return has(Feature::write_value_64);
    case MemoryOperation::Kind::flush_remote_writes: return has(Feature::wait_value_flush);
    case MemoryOperation::Kind::wait_32:
    case MemoryOperation::Kind::wait_64: break;
  }
  return has(op.is_64() ? Feature::wait_value_64 : Feature::wait_value_32) &&
         (op.condition != WaitCondition::geq || has(Feature::wait_value_geq)) &&
         (op.condition != WaitCondition::bit_nor || has(Feature::wait_value_nor)) &&
         (op.remote_writes != RemoteWrites::flush || has(Feature::wait_value_flush));
}

/// Whether an operation is valid and supported. Inline, because it is called for each operation of a batch.
inline bool is_usable(const Device& device, const MemoryOperation& op) noexcept {
  return op.kind <= MemoryOperation::Kind::flush_remote_writes && op.condition <= WaitCondition::bit_nor &&
         op.remote_writes <= RemoteWrites::flush &&
         has_all_needed(op, [&](Feature feature) { return device.supports(feature); }) &&
         (op.kind == MemoryOperation::Kind::flush_remote_writes ||
          (op.address != nullptr && aligned(op.address, op.is_64() ? 8 : 4)));
}

/// Throws the error for an operation for which `is_usable` is false.
[[noreturn, gnu::cold]] void throw_unknown_operation(StreamCall call, const MemoryOperation& op) {
  call.check_enumerator("MemoryOperation::Kind", op.kind, MemoryOperation::Kind::flush_remote_writes);
  call.check_enumerator("WaitCondition", op.condition, WaitCondition::bit_nor);
  call.check_enumerator("RemoteWrites", op.remote_writes, RemoteWrites::flush);
  (void)has_all_needed(op, [&](Feature feature) {
    call.require(feature);
    return true;
  });
  const char* const misplaced = op.is_64() ? "the address is not aligned to the size of the value, 8 bytes"
                                           : "the address is not aligned to the size of the value, 4 bytes";
  call.throw_error(Errc::invalid_argument, op.address == nullptr ? "the address is null" : misplaced);
}

void check_operation(StreamCall call, const MemoryOperation& op) {
  if (!is_usable(call.device(), op)) [[unlikely]]
    throw_unknown_operation(call, op);
}

struct OneMemoryOperation {
  static constexpr OperationKind kind = OperationKind::memory_operations;
  static constexpr Capturing capturing = Capturing::node;
  const MemoryOperation& operation;

  [[gnu::always_inline]] bool validate(const StreamCall& call) const {
    check_operation(call, operation);
    return true;
  }
  void check_capture(const StreamCall& call) const { call.require(Feature::memory_operations_in_capture); }
  void describe(ToolNotice& notice) const { notice->memory_operations = {&operation, 1}; }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_memory_operation(operation, capture); }
};

struct Batch {
  static constexpr OperationKind kind = OperationKind::memory_operations;
  static constexpr Capturing capturing = Capturing::node;
  std::span<const MemoryOperation> operations;

  void check_capture(const StreamCall& call) const { call.require(Feature::memory_operations_in_capture); }
  void describe(ToolNotice& notice) const { notice->memory_operations = operations; }
  [[gnu::always_inline]] bool validate(const StreamCall& call) const {
    call.require(Feature::batch_memory_operations);
    for (const MemoryOperation& op : operations) check_operation(call, op);
    return !operations.empty();
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    stream.do_batch_memory_operations(operations, capture);
  }
};

void check_managed(const StreamCall& call, const Allocation& memory) {
  if (memory.kind() != MemoryKind::managed) {
    call.throw_error(Errc::invalid_argument,
                     "the memory must be managed memory, but it is " + std::string(to_string(memory.kind())) + " memory");
  }
}

struct Prefetch {
  static constexpr OperationKind kind = OperationKind::prefetch;
  static constexpr Capturing capturing = Capturing::refused;
  const Allocation& managed;
  std::size_t offset;
  std::size_t bytes;
  PrefetchTarget target;

  bool validate(const StreamCall& call) const {
    call.require(Feature::managed_prefetch);
    call.check_enumerator("PrefetchTarget", target, PrefetchTarget::host);
    check_managed(call, managed);
    if (&managed.device().backend() != &call.device().backend()) {
      call.throw_error(Errc::wrong_device, "the memory is of " + managed.device().describe());
    }
    if (offset > managed.size_bytes() || bytes > managed.size_bytes() - offset) {
      call.throw_error(Errc::invalid_argument, std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                                              " are not within an allocation of " + std::to_string(managed.size_bytes()));
    }
    if (bytes == 0) call.throw_if_capturing();
    return bytes != 0;
  }
  const std::byte* first() const noexcept { return static_cast<const std::byte*>(managed.data()) + offset; }
  void describe(ToolNotice& notice) const { notice.reads(first(), bytes); }
  void enqueue(StreamImpl& stream, const CaptureState&) const { stream.do_prefetch(first(), bytes, target); }
};

}  // namespace

void Stream::memory_operation(const MemoryOperation& op) {
  submit(*this, op.is_wait() ? "Stream::wait_value" : "Stream::write_value", OneMemoryOperation{op});
}

void Stream::batch_memory_operations(std::span<const MemoryOperation> operations) {
  submit(*this, "Stream::batch_memory_operations", Batch{operations});
}

void Stream::attach_memory(AllocationRef attached, AttachMode mode) {
  const StreamCall call(*this, "Stream::attach_memory");
  const Allocation& managed = call.not_null(attached, "the memory");
  call.require(Feature::managed_attach);
  call.check_enumerator("AttachMode", mode, AttachMode::single);
  check_managed(call, managed);
  call.check_device(managed.device(), "the memory");
  call.throw_if_capturing();
  if (managed.size_bytes() != 0) impl(*this).do_attach_memory(managed, mode);
}

void Stream::prefetch(AllocationRef prefetched, std::size_t offset, std::size_t bytes, PrefetchTarget target) {
  const Allocation& managed = StreamCall(*this, "Stream::prefetch").not_null(prefetched, "the memory");
  submit(*this, "Stream::prefetch", Prefetch{managed, offset, bytes, target});
}

}  // namespace weir
