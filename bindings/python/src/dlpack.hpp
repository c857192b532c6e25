// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The structures of DLPack, versions 0 and 1, from its specification. With them, the build does not need DLPack's header.
namespace weir::python::dlpack {

enum class DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, rocm_host = 11, cuda_managed = 13 };

struct DLDevice {
  DeviceType type = DeviceType::cpu;
  std::int32_t ordinal = 0;
  friend bool operator==(DLDevice, DLDevice) = default;
};

struct Tensor {
  void* data;
  DLDevice place;
  std::int32_t dimensions;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null means row-major
  std::uint64_t byte_offset;
};

/// DLPack's DLManagedTensor.
struct Unversioned {
  static constexpr const char* name = "dltensor";
  static constexpr const char* used_name = "used_dltensor";
  Tensor tensor;
  void* owner;
  void (*deleter)(Unversioned*);
};

/// DLPack's DLManagedTensorVersioned.
struct Versioned {
  static constexpr const char* name = "dltensor_versioned";
  static constexpr const char* used_name = "used_dltensor_versioned";
  static constexpr std::uint64_t is_read_only = 1, is_copied = 2;
  std::uint32_t major, minor;
  void* owner;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace weir::python::dlpack
