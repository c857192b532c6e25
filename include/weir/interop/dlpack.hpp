// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlpack/dlpack.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// Converts Weir's buffers to DLPack tensors, and DLPack tensors to spans, without copying elements. Needs DLPack's header
/// (libdlpack-dev).
///
/// A DLPack tensor contains no stream. So the code that provides a tensor must make the consumer's stream wait for the work
/// that writes it, as `__dlpack__(stream=…)` does in Python.
namespace weir::dlpack {

/// DLPack's type for elements of type `T`. Defined for `bool`, integers, `float` and `double`. A program can define it for
/// 16-bit floats: `template <> inline constexpr DLDataType weir::dlpack::data_type<__half> = {kDLFloat, 16, 1};`.
template <class T>
inline constexpr DLDataType data_type = {};
/// The type for integers and `bool`. 6 is kDLBool, which is missing in DLPack's header before version 0.8.
template <std::integral T>
inline constexpr DLDataType data_type<T> = {
    std::uint8_t{std::is_same_v<std::remove_const_t<T>, bool> ? 6U : (std::is_signed_v<T> ? kDLInt : kDLUInt)},
    8 * sizeof(T), 1};
/// The type for floating-point numbers except `long double`.
template <std::floating_point T>
requires(sizeof(T) <= sizeof(double)) inline constexpr DLDataType data_type<T> = {kDLFloat, 8 * sizeof(T), 1};

namespace detail {

/// The number of elements of a shape; nullopt for a negative extent and for more elements than any memory can hold.
inline std::optional<std::size_t> element_count(std::span<const std::int64_t> shape) noexcept {
  std::size_t count = 1;
  bool overflows = false, is_empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    is_empty |= extent == 0;
    overflows = overflows || __builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count);
  }
  if (is_empty) return 0;
  return overflows || count > weir::detail::most_bytes ? std::nullopt : std::optional(count);
}

}  // namespace detail

/// DLPack's device for memory of that kind. Throws `unsupported` for backends without a DLPack device type.
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

/// Makes a tensor of the given shape, in row-major order, from the elements of `buffer`. The tensor is an owner of the
/// memory until the caller calls its `deleter`. Throws `length_mismatch` if the number of elements of the shape is not
/// `buffer.size()`.
template <class T>
DLManagedTensor* to_tensor(const Buffer<T>& buffer, std::span<const std::int64_t> shape) {
  static_assert(data_type<T>.bits != 0, "DLPack has no name for this element type; specialize weir::dlpack::data_type");
  struct Owner {
    AllocationPtr memory;
    std::vector<std::int64_t> shape;
    DLManagedTensor tensor;
  };
  if (const std::optional<std::size_t> elements = detail::element_count(shape); elements != buffer.size()) {
    throw Error(Errc::length_mismatch, "dlpack::to_tensor", "",
                "the shape has " + (elements ? std::to_string(*elements) : "no possible number of") +
                    " elements, and the buffer " + std::to_string(buffer.size()));
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

/// Returns the elements of a tensor. The tensor's owner must keep them alive until all work with them is done. Throws
/// `invalid_argument` unless the elements have the type `T`, are aligned for it, and are contiguous in row-major order. The
/// caller must check `DLTensor::device`; this function does not.
template <class T>
Span<T> span_of(const DLTensor& tensor) {
  using E = std::remove_const_t<T>;
  static_assert(data_type<E>.bits != 0, "DLPack has no name for this element type; specialize weir::dlpack::data_type");
  const auto throw_invalid = [](const std::string& cause) {
    throw Error(Errc::invalid_argument, "dlpack::span_of", "", cause);
  };
  if (tensor.dtype.code != data_type<E>.code || tensor.dtype.bits != data_type<E>.bits || tensor.dtype.lanes != 1) {
    throw_invalid("the tensor's elements have code " + std::to_string(tensor.dtype.code) + ", " +
                  std::to_string(tensor.dtype.bits) + " bits and " + std::to_string(tensor.dtype.lanes) +
                  " lanes, which is another type");
  }
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    throw_invalid("the tensor has " + std::to_string(tensor.ndim) + " dimensions" + (tensor.shape ? "" : ", and no shape"));
  const auto elements = detail::element_count({tensor.shape, static_cast<std::size_t>(tensor.ndim)});
  if (!elements || *elements > weir::detail::most_bytes / sizeof(T))
    throw_invalid("the tensor's shape has a negative extent, or more elements than any memory");
  if (*elements == 0) return {};
  std::int64_t row_major = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.strides != nullptr && tensor.shape[i] != 1 && tensor.strides[i] != row_major) {
      throw_invalid("the tensor is not contiguous: stride " + std::to_string(i) + " is " +
                    std::to_string(tensor.strides[i]) + " instead of " + std::to_string(row_major));
    }
    row_major *= tensor.shape[i];
  }
  std::byte* const data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
    throw_invalid("the elements begin at an address that is no multiple of " + std::to_string(alignof(T)));
  return {reinterpret_cast<T*>(data), *elements};
}

}  // namespace weir::dlpack
