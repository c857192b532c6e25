// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api.hpp"

/// What the driver's codes mean.
namespace weir::cuda {

std::string_view Api::error_name(Result result) const noexcept {
  const char* text = nullptr;
  return GetErrorName(result, &text) == CUDA_SUCCESS && text != nullptr ? text : "unknown CUresult";
}

std::string_view Api::error_text(Result result) const noexcept {
  const char* text = nullptr;
  return GetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr ? text : "the driver has no text for it";
}

gpu::Meaning Api::meaning(Result result) noexcept {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
      return {Errc::invalid_argument, "the driver refuses an argument: an address or a size that is not of this device's memory, "
                                      "or a shape that it does not run"};
    case CUDA_ERROR_OUT_OF_MEMORY:
      return {Errc::out_of_memory, "there is not enough memory; free some, ask for less, or see what else runs on the device"};
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
      return {Errc::backend_failure, "the driver has shut down, as it does when the process ends"};
    case CUDA_ERROR_NO_DEVICE: return {Errc::no_device, "the driver shows no device"};
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_SOURCE: return {Errc::invalid_image, "the image is not device code; give PTX, a cubin or a fatbin"};
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return {Errc::invalid_image, "the image holds no code for this device; build it for the device's architecture, or as PTX"};
    case CUDA_ERROR_INVALID_PTX: return {Errc::invalid_image, "the PTX does not compile"};
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return {Errc::invalid_image, "the PTX is of a newer version than the driver knows; update the driver, or build with an older "
                                   "toolkit"};
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
      return {Errc::invalid_image, "the driver has no compiler for PTX here; give a cubin for the device's architecture"};
    case CUDA_ERROR_NOT_FOUND: return {Errc::kernel_not_found, "there is nothing of that name"};
    case CUDA_ERROR_NOT_SUPPORTED:
      return {Errc::unsupported, "this device, or its driver, does not support the operation"};
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return {Errc::invalid_argument, "the launch needs more registers or memory than a block has; use smaller blocks"};
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
      return {Errc::invalid_argument, "a cooperative grid must fit on the device at once; use fewer blocks, see "
                                      "Kernel::max_active_blocks"};
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
      return {Errc::unsupported, "the two devices cannot address each other's memory"};
    case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
      return {Errc::invalid_argument, "part of the memory is pinned already"};
    case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: return {Errc::invalid_argument, "the memory is not pinned"};
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
      return {Errc::capture_unsupported, "an open capture forbids the call, and the driver has invalidated it"};
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
      return {Errc::capture_invalidated, "an earlier error invalidated the capture; it is over now, and its streams are usable"};
    case CUDA_ERROR_STREAM_CAPTURE_MERGE: return {Errc::capture_merge, "the call would join two captures"};
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
      return {Errc::capture_unmatched, "another stream began the capture"};
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
      return {Errc::capture_unjoined, "a stream that was drawn into the capture did work there and was not waited for; let the "
                                      "stream that began the capture wait for it before the end"};
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
      return {Errc::capture_isolation, "captured work would depend on work outside the capture"};
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      return {Errc::capture_implicit, "the call would order a capture against the legacy default stream"};
    case CUDA_ERROR_CAPTURED_EVENT: return {Errc::captured_event, "the event was last recorded in a capture"};
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: return {Errc::capture_wrong_thread, "another thread began the capture"};
    case CUDA_ERROR_ILLEGAL_STATE:
      return {Errc::backend_failure, "the object is not in a state for this: a stream that captures, or does not"};
    case CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: return {Errc::graph_update_failed, "the graph cannot be taken over"};
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return {Errc::device_fault, "a kernel or copy used an address that it may not; the device's context is lost, and only a new "
                                  "process gets another; compute-sanitizer finds the access"};
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
      return {Errc::device_fault, "work on the device failed; the device's context is lost, and only a new process gets another; "
                                  "compute-sanitizer finds the cause in a kernel"};
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return {Errc::driver_failed, "the driver's library and its kernel module are of different versions; restart the machine "
                                   "after an update, or reinstall the driver"};
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return {Errc::driver_failed, "the system is not ready for CUDA; on machines with NVSwitch, start the fabric manager"};
    case CUDA_ERROR_OPERATING_SYSTEM:
      return {Errc::driver_failed, "a call to the operating system failed; see the rights on /dev/nvidia* and the limits of the "
                                   "process"};
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return {Errc::driver_failed, "a compatibility package of the driver does not work on this device; take it off the "
                                   "library path"};
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return {Errc::backend_failure, "another process has the device to itself; see the compute mode in nvidia-smi"};
    default: return {};
  }
}

}  // namespace weir::cuda
