// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/api.hpp"

/// The meanings of the runtime's result codes. They are listed by HIP's names, because some numbers have another meaning in
/// CUDA.
namespace weir::hip {

std::string_view Api::error_name(Result result) const noexcept {
  if (is_shut_down(result)) return "hipErrorDeinitialized";  // at process exit the runtime must not be called
  const char* const text = GetErrorName(result);
  return text != nullptr ? text : "unknown hipError_t";
}

std::string_view Api::error_text(Result result) const noexcept {
  const char* const text = GetErrorString(result);
  // Up to 6.x hipGetErrorString returns just the code's name, which is not a text.
  return text != nullptr && error_name(result) != text ? text : std::string_view();
}

static_assert(hipErrorOutOfMemory == 2 && hipErrorPeerAccessUnsupported == 217 && hipErrorInvalidHandle == 400 &&
              hipErrorIllegalState == 401 && hipErrorNotFound == 500 && hipErrorLaunchOutOfResources == 701 &&
              hipErrorHostMemoryAlreadyRegistered == 712 && hipErrorHostMemoryNotRegistered == 713 &&
              hipErrorCooperativeLaunchTooLarge == 720 && hipErrorStreamCaptureInvalidated == 901 &&
              hipErrorStreamCaptureWrongThread == 908 && hipErrorGraphExecUpdateFailure == 910);

gpu::Meaning Api::meaning(Result result) noexcept {
  switch (static_cast<int>(result)) {
    case hipErrorInvalidValue:
      return {Errc::invalid_argument,
              "the runtime refused an argument: an address or a size outside this device's memory, or a shape that it "
              "cannot run"};
    case hipErrorInvalidConfiguration: return {Errc::invalid_argument, "the device cannot run this shape of launch"};
    case hipErrorNotInitialized:
      return {Errc::backend_failure, "the runtime has not started: it found no device, or no driver"};
    case hipErrorDeinitialized: return {Errc::backend_failure, "the runtime has shut down, because the process is ending"};
    case hipErrorNoDevice:
    case hipErrorInvalidDevice: return {Errc::no_device, "the runtime reports no such device"};
    case hipErrorInsufficientDriver:
      return {Errc::driver_failed, "the kernel driver amdgpu is too old for the runtime; update it"};
    case hipErrorInvalidImage:
    case hipErrorInvalidKernelFile:
    case hipErrorInvalidSource:
    case hipErrorFileNotFound:
    case hipErrorSharedObjectSymbolNotFound:
    case hipErrorSharedObjectInitFailed:
      return {Errc::invalid_image,
              "the image is not device code; pass a code object or a bundle of code objects (HIP does not support PTX)"};
    case hipErrorInvalidDeviceFunction:
    case hipErrorNoBinaryForGpu:
      return {
          Errc::invalid_image,
          "the image contains no code for this device; build it for the device's architecture, including xnack and sramecc"};
    case hipErrorNotSupported:
      return {Errc::unsupported, "this device, or this release of HIP, does not support the operation"};
    case invalid_cluster_size:
      return {Errc::invalid_argument,
              "the device cannot run the kernel's clusters in that shape; use a grid that is a multiple of the cluster"};
    case hipErrorStreamCaptureUnsupported:
      return {Errc::capture_unsupported,
              "an open capture forbids the call, and the runtime may have invalidated the capture; end that capture first"};
    case hipErrorContextIsDestroyed: return {Errc::backend_failure, "the stream or event was destroyed by other code"};
    case stream_detached:
      return {Errc::backend_failure, "the execution context that the stream belongs to was destroyed by other code"};
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorLaunchTimeOut:
    case hipErrorAssert:
    case hipErrorECCNotCorrectable:
    case hipErrorRuntimeMemory:
    case hipErrorRuntimeOther:
      return {Errc::device_fault,
              "work on the device failed (before ROCm 7.0 the runtime ends the process instead); AMD_LOG_LEVEL=4 shows each "
              "call"};
    default: return gpu::common_meaning(static_cast<int>(result));
  }
}

gpu::Meaning Api::meaning_at_launch(Result result) noexcept {
  if (result == hipErrorLaunchFailure) {
    return {
        Errc::invalid_argument,
        "the runtime refused the launch: a block has more threads than the kernel was compiled for (use smaller blocks, or "
        "compile it with larger __launch_bounds__), or, from ROCm 7.0 on, earlier work failed, which synchronize reports"};
  }
  return meaning(result);
}

gpu::Meaning Api::meaning_at_load(Result result) noexcept {
  if (result == hipErrorLaunchFailure) return {Errc::invalid_image, "the runtime cannot prepare the kernel for this device"};
  return meaning(result);
}

std::string_view Api::refusal_of_memory(Result result) const noexcept {
  if (result != hipErrorStreamCaptureUnsupported || !has(Workaround::explain_refused_memory)) return {};
  return "an open capture forbids the call, and the runtime may have invalidated it: HIP refuses stream-ordered memory on "
         "every "
         "stream while another blocking stream of the device captures, and new pools while any capture is open that is not "
         "relaxed; end that capture first, or begin it on a non-blocking stream in relaxed mode";
}

}  // namespace weir::hip
