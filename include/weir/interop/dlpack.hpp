// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlpack/dlpack.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/export.hpp"
#include "weir/memory.hpp"
#include "weir/span.hpp"

/// Weir's memory as DLPack tensors, and DLPack tensors as spans, without copies. Needs DLPack's header (libdlpack-dev).
///
/// A tensor says nothing of streams: whoever hands it over orders the work, as `__dlpack__(stream=…)` does in Python.
namespace weir::dlpack {

/// How DLPack names an element of type `T`: `bool` and other integers, `float`, `double`, and 16-bit floats by a trait of
/// the program's own: `template <> inline constexpr DLDataType weir::dlpack::data_type<__half> = {kDLFloat, 16, 1};`.
template <class T>
inline constexpr DLDataType data_type = {};
/// Of integers.
template <std::integral T>
inline constexpr DLDataType data_type<T> = {std::is_signed_v<T> ? std::uint8_t{kDLInt} : std::uint8_t{kDLUInt},
                                            8 * sizeof(T), 1};
/// Of floating-point numbers.
template <std::floating_point T>
inline constexpr DLDataType data_type<T> = {kDLFloat, 8 * sizeof(T), 1};

/// Where DLPack says that memory of that kind lies. Throws `unsupported` for backends that DLPack has no number for.
WEIR_IN_CALLER DLDevice device_of(const Device& device, MemoryKind kind) {
  const std::string_view backend = device.backend().name();
  const auto ordinal = static_cast<decltype(DLDevice::device_id)>(device.ordinal());
  const auto at = [](int type, decltype(DLDevice::device_id) id) { return DLDevice{static_cast<DLDeviceType>(type), id}; };
  if (backend == "host") return at(kDLCPU, 0);
  if (backend == "cuda") {
    if (kind == MemoryKind::managed) return at(kDLCUDAManaged, ordinal);
    return at(kind == MemoryKind::pinned ? kDLCUDAHost : kDLCUDA, kind == MemoryKind::pinned ? 0 : ordinal);
  }
  if (backend == "hip")
    return at(kind == MemoryKind::pinned ? kDLROCMHost : kDLROCM, kind == MemoryKind::pinned ? 0 : ordinal);
  throw Error(Errc::unsupported, "dlpack::device_of", device.describe(), "DLPack has no number for this backend");
}

/// A tensor of that shape, in row-major order, over the elements of `buffer`: another owner of the memory, until the caller
/// calls its `deleter`. Throws `length_mismatch` unless the shape has as many elements.
template <class T>
DLManagedTensor* to_tensor(const Buffer<T>& buffer, std::span<const std::int64_t> shape) {
  static_assert(data_type<T>.bits != 0, "DLPack has no name for this element type; specialize weir::dlpack::data_type");
  struct Owner {
    AllocationPtr memory;
    std::vector<std::int64_t> shape;
    DLManagedTensor tensor;
  };
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements))
      elements = std::numeric_limits<std::int64_t>::max();
  }
  if (static_cast<std::uint64_t>(elements) != buffer.size()) {
    throw Error(Errc::length_mismatch, "dlpack::to_tensor", "",
                "the shape has " + std::to_string(elements) + " elements, and the buffer " + std::to_string(buffer.size()));
  }
  auto owner = std::make_unique<Owner>(Owner{buffer.allocation(), {shape.begin(), shape.end()}, {}});
  DLTensor& tensor = owner->tensor.dl_tensor;
  tensor.data = buffer.data();
  if (owner->memory)
    tensor.device = device_of(owner->memory->device(), owner->memory->kind());
  else
    tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int>(shape.size());
  tensor.dtype = data_type<T>;
  tensor.shape = owner->shape.data();
  owner->tensor.manager_ctx = owner.get();
  owner->tensor.deleter = [](DLManagedTensor* self) { delete static_cast<Owner*>(self->manager_ctx); };
  return &owner.release()->tensor;
}

/// The elements of a tensor, whose owner must keep it until the work is done. Throws `invalid_argument` unless the elements
/// are of type `T` and contiguous in row-major order.
template <class T>
Span<T> span_of(const DLTensor& tensor) {
  using E = std::remove_const_t<T>;
  static_assert(data_type<E>.bits != 0, "DLPack has no name for this element type; specialize weir::dlpack::data_type");
  const auto refuse = [](const std::string& cause) { throw Error(Errc::invalid_argument, "dlpack::span_of", "", cause); };
  if (tensor.dtype.code != data_type<E>.code || tensor.dtype.bits != data_type<E>.bits || tensor.dtype.lanes != 1) {
    refuse("the tensor's elements have code " + std::to_string(tensor.dtype.code) + ", " +
           std::to_string(tensor.dtype.bits) + " bits and " + std::to_string(tensor.dtype.lanes) +
           " lanes, which is another type");
  }
  std::int64_t elements = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.strides != nullptr && tensor.shape[i] != 1 && tensor.strides[i] != elements && elements != 0) {
      refuse("the tensor is not contiguous: stride " + std::to_string(i) + " is " + std::to_string(tensor.strides[i]) +
             " instead of " + std::to_string(elements));
    }
    elements *= tensor.shape[i];
  }
  return {reinterpret_cast<T*>(static_cast<std::byte*>(tensor.data) + tensor.byte_offset),
          static_cast<std::size_t>(elements)};
}

}  // namespace weir::dlpack
