// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_DEVICE_H
#define WEIR_C_DEVICE_H

#include "weir/c/base.h"
#include "weir/c/feature.h"

/// @file
/// The C interface: backends, devices, their properties, features and health.

WEIR_C_BEGIN

/// An extent in three dimensions (dim3).
typedef struct weir_dim3 {
  uint32_t x, y, z;
} weir_dim3;

// --- Backends -----------------------------------------------------------------------------------------------------------

/// The outcome of opening a backend.
typedef enum weir_backend_state WEIR_C_ENUM {
  WEIR_BACKEND_USABLE = 0,
  WEIR_BACKEND_PLUGIN_NOT_FOUND = 1,
  WEIR_BACKEND_PLUGIN_INCOMPATIBLE = 2,
  WEIR_BACKEND_DRIVER_NOT_FOUND = 3,
  WEIR_BACKEND_DRIVER_TOO_OLD = 4,
  WEIR_BACKEND_NO_DEVICE = 5,
  WEIR_BACKEND_DRIVER_FAILED = 6,
  WEIR_BACKEND_BAD_VARIABLE = 7,  ///< an environment variable of the backend does not parse
} weir_backend_state;

/// The state of a backend on this machine. The texts live until the process ends.
typedef struct weir_backend_info {
  size_t struct_size;  ///< `sizeof(weir_backend_info)`
  const char* name;    ///< "cuda"
  weir_backend_state state;
  uint32_t reserved;        ///< 0
  const char* reason;       ///< "" if usable, otherwise cause and remedy
  const char* plugin_path;  ///< the plugin that was loaded, or ""
  const char* plugin_version;
  weir_backend* backend;  ///< null if the backend is not usable
} weir_backend_info;

/// Versions of the libraries that a backend has opened. A text is "" if the backend has no such library. The texts live
/// until the process ends.
typedef struct weir_backend_versions {
  size_t struct_size;  ///< `sizeof(weir_backend_versions)`
  const char* driver;  ///< "13.0"
  const char* runtime;
  const char* library_path;  ///< the driver library
  const char* compiler;      ///< the run-time compiler and its version, or why it is missing
} weir_backend_versions;

/// The names of Weir's own backends, in the order that `WEIR_BACKEND=auto` tries them: 0 is "cuda", 1 is "hip", 2 is
/// "host". Null for a larger `index`. Static text.
WEIR_C_API const char* weir_backend_known_name(size_t index);
/// Opens a backend, or returns it if it is already open. `name`: "cuda", "hip", "host" or a third party's name. Fails with
/// `WEIR_ERROR_BACKEND_UNKNOWN`, or if the backend is not usable with `WEIR_ERROR_PLUGIN_NOT_FOUND`,
/// `…_PLUGIN_INCOMPATIBLE`, `…_DRIVER_NOT_FOUND`, `…_DRIVER_TOO_OLD`, `…_NO_DEVICE`, `…_DRIVER_FAILED`. (cuInit)
WEIR_C_API weir_result weir_backend_open(const char* name, weir_backend** backend);
/// Opens and returns the backend that the environment variable `WEIR_BACKEND` selects. Fails like `weir_backend_open`; the
/// message lists all attempts.
WEIR_C_API weir_result weir_backend_open_default(weir_backend** backend);
/// Tries to open a backend and reports the outcome. Succeeds even if the backend is not usable. `info`: set its
/// `struct_size` before the call.
WEIR_C_API weir_result weir_backend_probe(const char* name, weir_backend_info* info);
/// The backend's name: "cuda", "hip", "host" or a third party's name.
WEIR_C_API const char* weir_backend_name(const weir_backend* backend);
/// The versions of the opened libraries. `versions`: set its `struct_size` before the call. (cuDriverGetVersion)
WEIR_C_API weir_result weir_backend_get_versions(const weir_backend* backend, weir_backend_versions* versions);
/// The number of the backend's devices; at least one. (cudaGetDeviceCount)
WEIR_C_API int32_t weir_backend_device_count(const weir_backend* backend);
/// Returns device number `ordinal` of the backend, counted from 0. Fails with `WEIR_ERROR_INVALID_ARGUMENT` if `ordinal` is
/// out of range. (cuDeviceGet)
WEIR_C_API weir_result weir_backend_device(const weir_backend* backend, int32_t ordinal, weir_device** device);

// --- Devices ------------------------------------------------------------------------------------------------------------

/// The device that the environment variables `WEIR_BACKEND` and `WEIR_DEVICE` select. Most programs call this first. Fails
/// like `weir_backend_open`, and with `WEIR_ERROR_INVALID_ENVIRONMENT`.
WEIR_C_API weir_result weir_device_get_default(weir_device** device);
/// A device by name: "cuda:1", "host". Fails like `weir_backend_open`; `WEIR_ERROR_INVALID_ARGUMENT` for a malformed name.
WEIR_C_API weir_result weir_device_get(const char* name, weir_device** device);
/// The devices of all backends that are usable. Writes at most `capacity` of them to `devices`, which may be null if
/// `capacity` is 0, and their total number to `count`. (vkEnumeratePhysicalDevices)
WEIR_C_API weir_result weir_device_enumerate(size_t capacity, weir_device** devices, size_t* count);
/// The backend that the device belongs to.
WEIR_C_API weir_backend* weir_device_backend(const weir_device* device);
/// The device's number in its backend, from 0.
WEIR_C_API int32_t weir_device_ordinal(const weir_device* device);
/// Describes the device: "cuda:0".
WEIR_C_API const char* weir_device_describe(const weir_device* device);
/// The vendor's number for the device (CUdevice, hipDevice_t).
WEIR_C_API int64_t weir_device_native_handle(const weir_device* device);

/// Properties of a device. Unknown ones are 0, false or "". The texts live until the process ends.
typedef struct weir_device_properties {
  size_t struct_size;                         ///< `sizeof(weir_device_properties)`
  const char* name;                           ///< the marketing name
  const char* architecture;                   ///< "sm_90", "gfx90a:sramecc+:xnack-", "x86-64"
  const char* uuid;                           ///< as the vendor prints it
  const char* pci_bus_id;                     ///< "0000:65:00.0"
  uint64_t total_memory;                      ///< bytes
  uint64_t shared_memory_per_block;           ///< bytes that every block may use
  uint64_t shared_memory_per_block_optin;     ///< bytes that a launch may request
  uint64_t shared_memory_per_multiprocessor;  ///< bytes
  uint64_t l2_cache_size;                     ///< bytes
  int32_t compute_capability_major;
  int32_t compute_capability_minor;
  int32_t multiprocessor_count;
  int32_t warp_size;  ///< threads in a warp: never assume 32
  int32_t max_threads_per_block;
  int32_t max_threads_per_multiprocessor;
  weir_dim3 max_block;  ///< threads
  weir_dim3 max_grid;   ///< blocks
  int32_t registers_per_block;
  int32_t clock_rate_khz;
  int32_t memory_clock_rate_khz;
  int32_t memory_bus_width_bits;
  int32_t async_engine_count;  ///< copies that run concurrently with kernels
  uint32_t flags;              ///< `weir_device_flags`
} weir_device_properties;

/// The bits of `weir_device_properties::flags`.
typedef enum weir_device_flags WEIR_C_ENUM {
  WEIR_DEVICE_INTEGRATED = 1,  ///< shares its memory with the host
  WEIR_DEVICE_ECC_ENABLED = 2,
  WEIR_DEVICE_UNIFIED_ADDRESSING = 4,
} weir_device_flags;

/// The device's properties, which are fixed once its backend is open. `properties`: set its `struct_size` before the call.
/// (cudaGetDeviceProperties)
WEIR_C_API weir_result weir_device_get_properties(const weir_device* device, weir_device_properties* properties);
/// The free memory at this moment and the total memory, in bytes; 0 if unknown. Either pointer may be null. (cudaMemGetInfo)
WEIR_C_API weir_result weir_device_memory_info(const weir_device* device, size_t* free_bytes, size_t* total_bytes);
/// Blocks until all work of the device is done. Fails with `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture forbids it.
/// (cudaDeviceSynchronize)
WEIR_C_API weir_result weir_device_synchronize(weir_device* device);
/// Like `weir_device_synchronize`, but waits for at most `timeout_ns` nanoseconds. `complete` is set to false if work is
/// still pending then, which is not a failure. A timeout of zero or less queries once.
WEIR_C_API weir_result weir_device_synchronize_for(weir_device* device, int64_t timeout_ns, bool* complete);

// --- Features -----------------------------------------------------------------------------------------------------------

/// Whether the device has the feature, natively or emulated. False for a number that is not a feature. Fast: tests one bit.
WEIR_C_API bool weir_device_supports(const weir_device* device, weir_feature feature);
/// How the device supports a feature. `reason` is set to the reason why the feature is absent or emulated, or to "" if it is
/// native. Either pointer may be null. The text lives until the process ends.
WEIR_C_API weir_result weir_device_get_feature(const weir_device* device, weir_feature feature, weir_support* support,
                                               const char** reason);
/// Fails with `WEIR_ERROR_UNSUPPORTED` if the device lacks any of `count` features; the message lists all missing ones, with
/// reasons.
WEIR_C_API weir_result weir_device_require(const weir_device* device, const weir_feature* features, size_t count);

// --- Peers --------------------------------------------------------------------------------------------------------------

/// Whether kernels of `device` can access `peer`'s memory after `weir_device_enable_peer_access`. (cudaDeviceCanAccessPeer)
WEIR_C_API weir_result weir_device_can_access_peer(const weir_device* device, const weir_device* peer, bool* can);
/// Enables kernels of `device` to access `peer`'s memory. Does nothing if access is already enabled. Feature `peer_access`.
/// (cudaDeviceEnablePeerAccess)
WEIR_C_API weir_result weir_device_enable_peer_access(weir_device* device, const weir_device* peer);
/// Disables that access. Does nothing if it is not enabled. (cudaDeviceDisablePeerAccess)
WEIR_C_API weir_result weir_device_disable_peer_access(weir_device* device, const weir_device* peer);

// --- Health -------------------------------------------------------------------------------------------------------------

/// Whether the device is usable. `state` is set to `WEIR_SUCCESS`, or to the first error of a poisoned device: its work
/// failed, and every call on it fails now (docs/health.md). `description`, if not null, is set to a text that
/// the caller must free: "ok", or the error and the operations that may have caused it, one in each line. Queries the
/// driver, and invalidates no capture.
WEIR_C_API weir_result weir_device_health(const weir_device* device, weir_result* state, char** description);
/// Whether Weir has found the device to be poisoned (see `weir_device_health`). Fast: one atomic load, no driver call.
WEIR_C_API bool weir_device_is_poisoned(const weir_device* device);

WEIR_C_END

#endif
