// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api.hpp"

#include "backends/cuda/numbers.hpp"

/// The meanings of the driver's result codes.
namespace weir::cuda {

std::string_view Api::error_name(Result result) const noexcept {
  const char* text = nullptr;
  if (GetErrorName(result, &text) == CUDA_SUCCESS && text != nullptr) return text;
  // After its shutdown the driver returns no names for its codes.
  return result == CUDA_ERROR_DEINITIALIZED ? "CUDA_ERROR_DEINITIALIZED" : "unknown CUresult";
}

std::string_view Api::error_text(Result result) const noexcept {
  const char* text = nullptr;
  return GetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr ? text : "the driver has no text for this code";
}

gpu::Meaning Api::meaning(Result result) noexcept {
  switch (static_cast<int>(result)) {
    case CUDA_ERROR_INVALID_VALUE:
      return {Errc::invalid_argument,
              "the driver refused an argument: an address or a size outside this device's memory, or a shape that it cannot "
              "run"};
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED: return {Errc::backend_failure, "the driver has shut down, because the process is ending"};
    case CUDA_ERROR_NO_DEVICE: return {Errc::no_device, "the driver reports no device"};
    case CUDA_ERROR_STUB_LIBRARY:
      return {Errc::driver_failed,
              "the library is the CUDA Toolkit's stub, which is only for linking; remove its folder from the library path, "
              "so that the driver's own libcuda.so.1 is found"};
    case CUDA_ERROR_DEVICE_NOT_LICENSED:
      return {Errc::driver_failed, "the virtual GPU has no licence; check the licence server's settings in gridd.conf"};
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return {Errc::backend_failure,
              "the device's context was destroyed, for example by cudaDeviceReset or cuDevicePrimaryCtxReset, and with it "
              "all of Weir's objects on the device; only a new process can use the device again: remove the reset"};
    case CUDA_ERROR_LOSSY_QUERY:
      return {Errc::unsupported,
              "other code gave the object properties that this driver cannot report, such as programmatic edges in a "
              "capture; update the driver to CUDA 12.3 or later"};
    case CUDA_ERROR_NOT_PERMITTED:
      return {Errc::called_from_host_function,
              "the driver does not permit the call here: host functions and callbacks must not call it; pass the work to "
              "another thread"};
    case error_external_device:
      return {Errc::device_fault,
              "a device outside CUDA for which this one waited reports invalid data; only a new process gets a new context"};
    case error_stream_detached:
      return {Errc::backend_failure, "the stream's green context was destroyed, so no work can be enqueued on the stream"};
    case error_graph_recapture_failure:
      return {Errc::graph_update_failed, "the graph could not be captured again into the existing graph"};
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE:
      return {Errc::invalid_image, "the image is not device code; pass PTX, a cubin or a fatbin"};
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return {Errc::invalid_image,
              "the image contains no code for this device; build it for the device's architecture, or as PTX"};
    case CUDA_ERROR_INVALID_PTX: return {Errc::invalid_image, "the PTX does not compile"};
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return {Errc::invalid_image,
              "the PTX has a newer version than the driver supports; update the driver, or build with an older toolkit"};
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
      return {Errc::invalid_image, "the driver has no compiler for PTX here; pass a cubin for the device's architecture"};
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
      return {Errc::invalid_image,
              "compiling PTX is disabled (CUDA_DISABLE_PTX_JIT); unset that variable, or pass a cubin for the device's "
              "architecture"};
    case CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC:
      return {Errc::invalid_image, "the code calls cudaDeviceSynchronize on the device, which newer drivers do not support"};
    case CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY:
    case CUDA_ERROR_NOT_SUPPORTED:
      return {Errc::unsupported, "this device, or its driver, does not support the operation"};
    case error_resource_configuration:
      return {Errc::invalid_argument,
              "the driver cannot split the device's multiprocessors like this; request fewer, or destroy other partitions"};
    case error_invalid_cluster_size:
      return {Errc::invalid_argument,
              "the device cannot run the kernel's clusters in that shape; use a grid that is a multiple of the cluster"};
    case CUDA_ERROR_TOO_MANY_PEERS:
      return {Errc::unsupported,
              "the device cannot access the memory of more devices; disable its access to another device first"};
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return {Errc::capture_unsupported, "an open capture forbids the call, and the driver has invalidated the capture"};
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return {Errc::device_fault,
              "a kernel or copy used an invalid address; the device's context is lost, and only a new process gets a new "
              "one; compute-sanitizer finds the access"};
    case CUDA_ERROR_LAUNCH_TIMEOUT: return {Errc::device_fault, "a kernel ran too long for a device that drives a display"};
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case error_contained:
    case error_tensor_memory_leak:
      return {Errc::device_fault,
              "work on the device failed; the device's context is lost, and only a new process gets a new one; "
              "compute-sanitizer finds the cause in a kernel"};
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return {Errc::driver_failed,
              "the driver's library and its kernel module have different versions; restart the machine after an update, or "
              "reinstall the driver"};
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return {Errc::driver_failed, "the system is not ready for CUDA; on machines with NVSwitch, start the fabric manager"};
    case CUDA_ERROR_MPS_CONNECTION_FAILED:
    case CUDA_ERROR_MPS_RPC_FAILURE:
    case CUDA_ERROR_MPS_SERVER_NOT_READY:
      return {Errc::driver_failed,
              "the MPS server does not answer; check whether nvidia-cuda-mps-control runs for this user, its log, and "
              "CUDA_MPS_PIPE_DIRECTORY"};
    case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
    case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED:
      return {Errc::driver_failed,
              "the MPS server accepts no more clients or connections; end other processes, or lower "
              "CUDA_DEVICE_MAX_CONNECTIONS"};
    case CUDA_ERROR_MPS_CLIENT_TERMINATED:
      return {
          Errc::device_fault,
          "the MPS server ended this process's work, as after a fault of any client; only a new process gets a new context"};
    case CUDA_ERROR_OPERATING_SYSTEM:
      return {Errc::driver_failed,
              "a call of the operating system failed; check the permissions of /dev/nvidia* and the limits of the process"};
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return {Errc::driver_failed,
              "a compatibility package of the driver does not work on this device; remove it from the library path"};
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return {Errc::backend_failure, "another process uses the device exclusively; check the compute mode in nvidia-smi"};
    default: return gpu::common_meaning(static_cast<int>(result));
  }
}

}  // namespace weir::cuda
