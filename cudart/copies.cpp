// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "cudart/state.hpp"

namespace weir::cudart {

void check_kind(cudaMemcpyKind kind) {
  check(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection);
}

namespace {

// Whether the tool `validate` checks each range. It reports those that are too long, and refuses the operation.
bool is_validated() {
  static const bool is = [] {
    const char* const tools = secure_getenv("WEIR_TOOLS");
    return tools != nullptr && ("," + std::string(tools) + ",").find(",validate,") != std::string::npos;
  }();
  return is;
}

}  // namespace

void check_range(const void* address, std::size_t bytes, Side side) {
  check(address != nullptr);
  const auto range = memory().range_of(address);
  if (!range || range->kind == BlockKind::opened) return;
  check(side != Side::host || (range->kind != BlockKind::device && range->kind != BlockKind::symbol));
  check(is_validated() || bytes <= range->bytes - (reinterpret_cast<std::uintptr_t>(address) - range->begin));
}

namespace {

// One side of a copy is the device's if the kind is `of_device` or between devices.
Side side_of(cudaMemcpyKind kind, cudaMemcpyKind of_device) {
  if (kind == cudaMemcpyDefault) return Side::any;
  return kind == of_device || kind == cudaMemcpyDeviceToDevice ? Side::device : Side::host;
}
Side side_of_destination(cudaMemcpyKind kind) { return side_of(kind, cudaMemcpyHostToDevice); }
Side side_of_source(cudaMemcpyKind kind) { return side_of(kind, cudaMemcpyDeviceToHost); }

// Whether the host may use the memory: it is not known to be the device's.
bool is_of_host(const void* address) {
  const auto range = memory().range_of(address);
  return !range ||
         (range->kind != BlockKind::device && range->kind != BlockKind::symbol && range->kind != BlockKind::opened);
}

// cudaMemcpy waits, except between device memory.
bool must_wait(const void* to, const void* from) { return is_of_host(to) || is_of_host(from); }

constexpr std::size_t most_staged = std::size_t{64} << 10U;

// Copies a few bytes, which are read during the call. The copies of them are reused once the streams have read them. They
// are on the heap, because they are no memory of the program that tools should see.
void copy_staged(Stream& stream, void* to, const void* from, std::size_t bytes) {
  struct Staged {
    std::unique_ptr<std::byte[]> memory;
    EventPtr done;
  };
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::deque<Staged>;  // the oldest first
  Staged staged;
  {
    const std::lock_guard lock(mutex);
    if (!all.empty() && all.front().done->is_complete() && all.front().done->device() == stream.device()) {
      staged = std::move(all.front());
      all.pop_front();
    }
  }
  if (!staged.memory) staged = {std::make_unique_for_overwrite<std::byte[]>(most_staged), stream.device().create_event()};
  std::memcpy(staged.memory.get(), from, bytes);
  stream.copy_bytes(to, staged.memory.get(), bytes);
  stream.record(Ref<Event>(*staged.done));
  const std::lock_guard lock(mutex);
  all.push_back(std::move(staged));
}

// Copies of pageable memory do what CUDA's do, on which programs depend: the source may be reused when the call returns, and
// the destination is complete. The drivers of GPUs see to that themselves. A capture copies at each launch.
void copy_async(Stream& stream, void* to, const void* from, std::size_t bytes) {
  if (!runtime().is_host || stream.is_capturing()) {
    stream.copy_bytes(to, from, bytes);
    return;
  }
  const bool is_pageable_source = !memory().range_of(from).has_value();
  const bool is_pageable_destination = !memory().range_of(to).has_value();
  if (is_pageable_source && !is_pageable_destination && bytes <= most_staged) return copy_staged(stream, to, from, bytes);
  stream.copy_bytes(to, from, bytes);
  if (is_pageable_source || is_pageable_destination) stream.synchronize();
}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t handle, bool wait) {
  check_kind(kind);
  const StreamPtr stream = stream_of(handle);
  if (bytes == 0) return;
  check_range(to, bytes, side_of_destination(kind));
  check_range(from, bytes, side_of_source(kind));
  if (!wait) {
    copy_async(*stream, to, from, bytes);
    return;
  }
  stream->copy_bytes(to, from, bytes);
  if (!must_wait(to, from)) return;
  stream->synchronize();
  collect_faults(device_at(stream->device().ordinal()));
}

void copy_peer(void* to, int to_device, const void* from, int from_device, std::size_t bytes, cudaStream_t handle,
               bool wait) {
  const Device& destination = *device_at(to_device).device;
  const Device& source = *device_at(from_device).device;
  const StreamPtr stream = stream_of(handle);
  if (bytes == 0) return;
  check_range(to, bytes, Side::any);
  check_range(from, bytes, Side::any);
  stream->copy_peer(to, destination, from, source, bytes);
  if (wait && must_wait(to, from)) stream->synchronize();
}

std::size_t last_byte(const PitchedSpan<const std::byte>& span) {
  const Extent& e = span.extent;
  return e.empty() ? 0 : (e.depth - 1) * span.slice_bytes() + (e.height - 1) * span.row_bytes() + e.width;
}

void copy_box(const cudaMemcpy3DParms& parameters, cudaStream_t handle, bool wait) {
  const BoxCopy box = box_copy(parameters);
  const StreamPtr stream = stream_of(handle);
  if (box.to.extent.empty()) return;
  enqueue(*stream, box);
  const bool is_pageable =
      runtime().is_host && !stream->is_capturing() && !(memory().range_of(box.to.data) && memory().range_of(box.from.data));
  if (wait ? must_wait(box.to.data, box.from.data) : is_pageable) stream->synchronize();
}

cudaMemcpy3DParms rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                       std::size_t height, cudaMemcpyKind kind) {
  check_kind(kind);
  check(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
  cudaMemcpy3DParms p{};
  p.dstPtr = {to, to_pitch, width, height};
  p.srcPtr = {const_cast<void*>(from), from_pitch, width, height};
  p.extent = {width, height, 1};
  p.kind = kind;
  return p;
}

void fill(const cudaPitchedPtr& pointer, int value, const cudaExtent& extent, cudaStream_t handle, bool wait) {
  const std::size_t rows_of_slice = extent.depth > 1 ? pointer.ysize : extent.height;
  check(extent.height <= rows_of_slice);
  const StreamPtr stream = stream_of(handle);
  if (extent.width == 0 || extent.height == 0) return;
  cudaMemsetParams slice{pointer.ptr, pointer.pitch, static_cast<unsigned char>(value), 1, extent.width, extent.height};
  for (std::size_t i = 0; i < extent.depth; ++i) {
    check_fill(slice);
    enqueue(*stream, slice);
    slice.dst = static_cast<std::byte*>(slice.dst) + pointer.pitch * rows_of_slice;
  }
  if (wait && is_of_host(pointer.ptr)) stream->synchronize();
}

// The part of a variable, on this side of a copy.
std::byte* part_of(const void* variable, std::size_t bytes, std::size_t offset, Side side) {
  check(side != Side::host, cudaErrorInvalidMemcpyDirection);
  const Span<std::byte> all = symbol(variable);
  check(offset <= all.size() && bytes <= all.size() - offset);
  return all.data() + offset;
}

}  // namespace

BoxCopy box_copy(cudaMemcpy3DParms p) {
  check_kind(p.kind);
  // Of an array, positions and the extent count elements.
  const auto replace_array = [&](const cudaArray* array, cudaPitchedPtr& pointer, cudaPos& pos) -> std::size_t {
    if (array == nullptr) return 1;
    const auto& [x, y, z, w, kind] = array->desc;
    const auto element = static_cast<std::size_t>(x + y + z + w) / 8;
    const std::size_t width = array->extent.width, height = std::max(array->extent.height, std::size_t{1}),
                      depth = std::max(array->extent.depth, std::size_t{1});
    check(pos.x + p.extent.width <= width && pos.y + p.extent.height <= height && pos.z + p.extent.depth <= depth);
    pointer = {array->data, width * element, width, height};
    pos.x *= element;
    return element;
  };
  const std::size_t from = replace_array(p.srcArray, p.srcPtr, p.srcPos);
  const std::size_t to = replace_array(p.dstArray, p.dstPtr, p.dstPos);
  check(from == to || from == 1 || to == 1);
  p.extent.width *= std::max(from, to);
  const cudaExtent& e = p.extent;
  const auto span = [&](const cudaPitchedPtr& pointer, const cudaPos& pos) {
    const std::size_t height = e.depth > 1 || pos.z > 0 ? pointer.ysize : e.height + pos.y;
    check(e.height <= 1 || e.width + pos.x <= pointer.pitch, cudaErrorInvalidPitchValue);
    check(e.depth <= 1 || e.height + pos.y <= height);
    const std::size_t pitch = e.height > 1 || e.depth > 1 || pos.y > 0 || pos.z > 0 ? pointer.pitch : e.width;
    const std::size_t slice = pitch * height;
    auto* const first = static_cast<std::byte*>(pointer.ptr) + pos.z * slice + pos.y * pitch + pos.x;
    return PitchedSpan<std::byte>{first, {e.width, e.height, e.depth}, pitch, slice};
  };
  BoxCopy box{span(p.dstPtr, p.dstPos), span(p.srcPtr, p.srcPos)};
  if (box.to.extent.empty()) return box;
  check(p.dstPtr.ptr != nullptr && p.srcPtr.ptr != nullptr);
  check_range(box.to.data, last_byte(box.to), side_of_destination(p.kind));
  check_range(box.from.data, last_byte(box.from), side_of_source(p.kind));
  return box;
}

void enqueue(Stream& stream, const BoxCopy& box) {
  const Extent& e = box.to.extent;
  if (e.height == 1 && e.depth == 1)
    stream.copy_bytes(box.to.data, box.from.data, e.width);
  else
    stream.copy(box.to, box.from);
}

void check_fill(const cudaMemsetParams& f) {
  check(f.elementSize == 1 || f.elementSize == 2 || f.elementSize == 4);
  check(f.dst != nullptr && f.width <= SIZE_MAX / 8);
  check(f.height <= 1 || f.width * f.elementSize <= f.pitch, cudaErrorInvalidPitchValue);
  check_range(f.dst, f.height == 0 ? 0 : (f.height - 1) * f.pitch + f.width * f.elementSize, Side::any);
}

void enqueue(Stream& stream, const cudaMemsetParams& f) {
  const auto fill_as = [&]<class E>(E value) {
    auto* const data = static_cast<E*>(f.dst);
    if (f.height == 1)
      stream.fill(Span<E>(data, f.width), value);
    else
      stream.fill(PitchedSpan<E>{data, {f.width, f.height, 1}, f.pitch, 0}, value);
  };
  if (f.elementSize == 1)
    fill_as(static_cast<std::uint8_t>(f.value));
  else if (f.elementSize == 2)
    fill_as(static_cast<std::uint16_t>(f.value));
  else
    fill_as(std::uint32_t{f.value});
}

namespace calls {

void cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  copy(to, from, bytes, kind, nullptr, true);
}

void cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  copy(to, from, bytes, kind, stream, false);
}

void cudaMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice, size_t bytes) {
  copy_peer(to, toDevice, from, fromDevice, bytes, nullptr, true);
}

void cudaMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice, size_t bytes, cudaStream_t stream) {
  copy_peer(to, toDevice, from, fromDevice, bytes, stream, false);
}

void cudaMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                  cudaMemcpyKind kind) {
  copy_box(rows(to, toPitch, from, fromPitch, width, height, kind), nullptr, true);
}

void cudaMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                       cudaMemcpyKind kind, cudaStream_t stream) {
  copy_box(rows(to, toPitch, from, fromPitch, width, height, kind), stream, false);
}

void cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
  check(copy != nullptr);
  copy_box(*copy, nullptr, true);
}

void cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
  check(copy != nullptr);
  copy_box(*copy, stream, false);
}

void cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  copy(part_of(symbol, bytes, offset, side_of_destination(kind)), from, bytes, kind, nullptr, true);
}

void cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  copy(to, part_of(symbol, bytes, offset, side_of_source(kind)), bytes, kind, nullptr, true);
}

void cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream) {
  copy(part_of(symbol, bytes, offset, side_of_destination(kind)), from, bytes, kind, stream, false);
}

void cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                               cudaStream_t stream) {
  copy(to, part_of(symbol, bytes, offset, side_of_source(kind)), bytes, kind, stream, false);
}

void cudaGetSymbolAddress(void** pointer, const void* symbol) { give(pointer, cudart::symbol(symbol).data()); }

void cudaGetSymbolSize(size_t* bytes, const void* symbol) { give(bytes, cudart::symbol(symbol).size()); }

void cudaMemset(void* pointer, int value, size_t bytes) {
  fill({pointer, bytes, bytes, 1}, value, {bytes, 1, 1}, nullptr, true);
}

void cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  fill({pointer, bytes, bytes, 1}, value, {bytes, 1, 1}, stream, false);
}

void cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  fill({pointer, pitch, width, height}, value, {width, height, 1}, nullptr, true);
}

void cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  fill({pointer, pitch, width, height}, value, {width, height, 1}, stream, false);
}

void cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) { fill(pointer, value, extent, nullptr, true); }

void cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
  fill(pointer, value, extent, stream, false);
}

}  // namespace calls
}  // namespace weir::cudart
