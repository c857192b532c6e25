// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "bridge.hpp"

/// Initialization, versions, devices and their properties.
namespace bridge {
namespace {

struct State {
  struct Device {
    CUdevice device = 0;
    std::once_flag opened;
    CUcontext context = nullptr;
  };
  explicit State(const Cuda& driver) : devices(static_cast<std::size_t>(driver.device_count)) {
    for (std::size_t i = 0; i < devices.size(); ++i) driver.DeviceGet(&devices[i].device, static_cast<int>(i));
  }
  std::vector<Device> devices;
};

State& state() {
  static auto* const devices = new State(*cuda());
  return *devices;
}

thread_local int current = 0;

// Attributes that mean the same to both, by HIP's number.
constexpr std::pair<int, CUdevice_attribute> attributes[] = {
    {0, CU_DEVICE_ATTRIBUTE_ECC_ENABLED},
    {2, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
    {3, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY},
    {5, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
    {8, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS},
    {9, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
    {10, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
    {16, CU_DEVICE_ATTRIBUTE_INTEGRATED},
    {19, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {24, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
    {26, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X},
    {27, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y},
    {28, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z},
    {29, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X},
    {30, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y},
    {31, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z},
    {56, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    {57, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {59, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {60, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
    {63, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    {65, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
    {67, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID},
    {68, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID},
    {69, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID},
    {71, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
    // AMD's devices give a block all it can have without asking.
    {74, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {75, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {76, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {78, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED},
    {85, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING},
    {87, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
    {88, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
    {90, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED},
    {10002, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
};

hipError_t get_attribute(int* value, int attribute, int ordinal) noexcept {
  if (value == nullptr) return hipErrorInvalidValue;
  if (!is_device(ordinal)) return hipErrorInvalidDevice;
  switch (attribute) {
    case 23: *value = 9; return hipSuccess;  // gfx90a
    case 61: *value = 0; return hipSuccess;
    case 75:
      if (before(603)) {  // it succeeds, and says that there is none
        *value = 0;
        return hipSuccess;
      }
      break;
    case 10013: *value = 1; return hipSuccess;  // gfx90a had it before 5.5 already
    default: break;
  }
  for (const auto& [hip, native] : attributes) {
    if (hip == attribute) {
      *value = attribute_of(ordinal, native);
      return hipSuccess;
    }
  }
  return hipErrorInvalidValue;  // the value is left as it was
}

/// What Weir reads of the newer layout, by its place, since the older headers do not have it.
hipError_t get_properties(void* properties, int ordinal) noexcept {
  constexpr std::size_t size = 1472, architecture_name = 1160, cluster_launch = 772;
  if (properties == nullptr) return hipErrorInvalidValue;
  if (!is_device(ordinal)) return hipErrorInvalidDevice;
  auto* const bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, size);
  std::strcpy(bytes + architecture_name, architecture);
  const int clusters = attribute_of(ordinal, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  std::memcpy(bytes + cluster_launch, &clusters, sizeof(clusters));
  return hipSuccess;
}

}  // namespace

int current_device() noexcept { return current; }
void set_current_device(int ordinal) noexcept { current = ordinal; }
bool is_device(int ordinal) noexcept { return ordinal >= 0 && ordinal < cuda()->device_count; }
CUdevice native_device(int ordinal) noexcept { return state().devices[static_cast<std::size_t>(ordinal)].device; }

CUcontext context_of(int ordinal) noexcept {
  State::Device& device = state().devices[static_cast<std::size_t>(ordinal)];
  std::call_once(device.opened, [&] {
    const CUresult result = cuda()->DevicePrimaryCtxRetain(&device.context, device.device);
    if (result != CUDA_SUCCESS)
      std::fprintf(stderr, "HIP bridge: no context on device %d: error %d\n", ordinal, static_cast<int>(result));
  });
  return device.context;
}

int attribute_of(int ordinal, CUdevice_attribute attribute) noexcept {
  int value = 0;
  cuda()->DeviceGetAttribute(&value, attribute, native_device(ordinal));
  return value;
}

}  // namespace bridge

using namespace bridge;

extern "C" {

hipError_t hipInit(unsigned flags) {
  if (flags != 0) return finish(hipErrorInvalidValue);
  return call([](const Cuda&) { return hipSuccess; });
}

hipError_t hipRuntimeGetVersion(int* version) {
  if (version == nullptr) return finish(hipErrorInvalidValue);
  *version = release / 100 * 10000000 + release % 100 * 100000 + 1;  // the last digits are a build's number
  return finish(hipSuccess);
}

hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return finish(hipErrorInvalidValue);
  *count = cuda() != nullptr ? cuda()->device_count : 0;
  return finish(*count != 0 ? hipSuccess : hipErrorNoDevice);
}

hipError_t hipGetDevice(int* ordinal) {
  return call([&](const Cuda&) {
    *ordinal = current_device();
    return hipSuccess;
  });
}

hipError_t hipSetDevice(int ordinal) {
  return call([&](const Cuda&) {
    if (!is_device(ordinal)) return hipErrorInvalidDevice;
    set_current_device(ordinal);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetName(char* name, int length, hipDevice_t ordinal) {
  return call([&](const Cuda& driver) {
    if (!is_device(ordinal)) return hipErrorInvalidDevice;
    return from_cuda(driver.DeviceGetName(name, length, native_device(ordinal)));
  });
}

// Sixteen characters of a hexadecimal number, and no terminating null.
hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t ordinal) {
  return call([&](const Cuda& driver) {
    if (!is_device(ordinal)) return hipErrorInvalidDevice;
    CUuuid native;
    driver.DeviceGetUuid(&native, native_device(ordinal));
    char text[17];
    for (int i = 0; i < 8; ++i) std::snprintf(text + 2 * i, 3, "%02x", static_cast<unsigned char>(native.bytes[i]));
    std::memcpy(uuid->bytes, text, 16);
    return hipSuccess;
  });
}

hipError_t hipDeviceGetPCIBusId(char* id, int length, int ordinal) {
  return call([&](const Cuda&) {
    if (!is_device(ordinal)) return hipErrorInvalidDevice;
    if (id == nullptr || length <= 0) return hipErrorInvalidValue;
    const auto get = [&](CUdevice_attribute a) { return attribute_of(ordinal, a); };
    std::snprintf(id, static_cast<std::size_t>(length), "%04x:%02x:%02x.0", get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                  get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    return length < 13 ? hipErrorInvalidValue : hipSuccess;
  });
}

hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t ordinal) {
  return call([&](const Cuda& driver) {
    if (!is_device(ordinal)) return hipErrorInvalidDevice;
    return from_cuda(driver.DeviceTotalMem(bytes, native_device(ordinal)));
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int ordinal) {
  return call([&](const Cuda&) { return get_attribute(value, static_cast<int>(attribute), ordinal); });
}

hipError_t hipGetDevicePropertiesR0600(void* properties, int ordinal) {
  return call([&](const Cuda&) { return get_properties(properties, ordinal); });
}

hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call([&](const Cuda&) {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return hipSuccess;
  });
}

hipError_t hipDeviceSynchronize() { return pass(&Cuda::CtxSynchronize); }

// --- Peers ------------------------------------------------------------------------------------------------------------

hipError_t hipDeviceCanAccessPeer(int* can, int ordinal, int peer) {
  return call([&](const Cuda& driver) {
    if (!is_device(ordinal) || !is_device(peer)) return hipErrorInvalidDevice;
    if (ordinal == peer) {
      *can = 0;
      return hipSuccess;
    }
    return from_cuda(driver.DeviceCanAccessPeer(can, native_device(ordinal), native_device(peer)));
  });
}

hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    if (flags != 0) return hipErrorInvalidValue;
    if (!is_device(peer)) return hipErrorInvalidDevice;
    const CUresult result = driver.CtxEnablePeerAccess(context_of(peer), 0);
    return result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED ? hipErrorInvalidDevice : from_cuda(result);
  });
}

hipError_t hipDeviceDisablePeerAccess(int peer) {
  return on_device([&](const Cuda& driver) {
    if (!is_device(peer)) return hipErrorInvalidDevice;
    return from_cuda(driver.CtxDisablePeerAccess(context_of(peer)));
  });
}
}
