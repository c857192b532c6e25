// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "bridge.hpp"

/// Error codes.
namespace bridge {
namespace {

thread_local hipError_t last_error = hipSuccess;

const char* name_of(int error) noexcept {
  switch (error) {
    case 0: return "hipSuccess";
    case 1: return "hipErrorInvalidValue";
    case 2: return "hipErrorOutOfMemory";
    case 3: return "hipErrorNotInitialized";
    case 4: return "hipErrorDeinitialized";
    case 9: return "hipErrorInvalidConfiguration";
    case 35: return "hipErrorInsufficientDriver";
    case 98: return "hipErrorInvalidDeviceFunction";
    case 100: return "hipErrorNoDevice";
    case 101: return "hipErrorInvalidDevice";
    case 200: return "hipErrorInvalidImage";
    case 201: return "hipErrorInvalidContext";
    case 209: return "hipErrorNoBinaryForGpu";
    case 218: return "hipErrorInvalidKernelFile";
    case 400: return "hipErrorInvalidHandle";
    case 401: return "hipErrorIllegalState";
    case 500: return "hipErrorNotFound";
    case 600: return "hipErrorNotReady";
    case 700: return "hipErrorIllegalAddress";
    case 701: return "hipErrorLaunchOutOfResources";
    case 702: return "hipErrorLaunchTimeOut";
    case 704: return "hipErrorPeerAccessAlreadyEnabled";
    case 705: return "hipErrorPeerAccessNotEnabled";
    case 709: return "hipErrorContextIsDestroyed";
    case 710: return "hipErrorAssert";
    case 712: return "hipErrorHostMemoryAlreadyRegistered";
    case 713: return "hipErrorHostMemoryNotRegistered";
    case 719: return "hipErrorLaunchFailure";
    case 720: return "hipErrorCooperativeLaunchTooLarge";
    case 801: return "hipErrorNotSupported";
    case 900: return "hipErrorStreamCaptureUnsupported";
    case 901: return "hipErrorStreamCaptureInvalidated";
    case 902: return "hipErrorStreamCaptureMerge";
    case 903: return "hipErrorStreamCaptureUnmatched";
    case 904: return "hipErrorStreamCaptureUnjoined";
    case 905: return "hipErrorStreamCaptureIsolation";
    case 906: return "hipErrorStreamCaptureImplicit";
    case 907: return "hipErrorCapturedEvent";
    case 908: return "hipErrorStreamCaptureWrongThread";
    case 910: return "hipErrorGraphExecUpdateFailure";
    default: return "hipErrorUnknown";
  }
}

}  // namespace

void undefined(const char* function, const char* why) noexcept {
  std::fprintf(stderr, "HIP bridge, presenting release %d.%d: %s: %s; AMD's library would crash here\n", release / 100,
               release % 100, function, why);
  std::abort();
}

namespace {
std::atomic<bool> is_shut_down{false};  // no member: nothing need be written to an object that ends
struct ShutDown {
  ~ShutDown() { is_shut_down = true; }
} shut_down;
}  // namespace

void check_not_shut_down() noexcept {
  if (is_shut_down) undefined("(any function)", "the library has shut down with its static objects");
}

bool is_immediate() noexcept {
  static const bool value = std::getenv("WEIR_BRIDGE_IMMEDIATE") != nullptr;
  return value;
}

hipError_t from_cuda(CUresult result) noexcept {
  const int code = static_cast<int>(result);
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      if (before(700)) undefined("(asynchronously)", "work on the device failed, which ends the process before 7.0");
      break;
    default: break;
  }
  const bool same = code <= 8 || code == 100 || code == 101 || (code >= 200 && code <= 219) ||
                    (code >= 300 && code <= 304) || code == 400 || code == 401 || code == 500 || code == 600 ||
                    (code >= 700 && code <= 702) || code == 704 || code == 705 || (code >= 708 && code <= 710) ||
                    code == 712 || code == 713 || code == 719 || code == 720 || code == 801 ||
                    (code >= 900 && code <= 908) || code == 910;
  if (same) return static_cast<hipError_t>(code);
  switch (result) {
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: return hipErrorNoBinaryForGpu;
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC: return hipErrorLaunchFailure;
    default: return hipErrorUnknown;
  }
}

hipError_t without_device() noexcept {
  static std::atomic<bool> told{false};
  return told.exchange(true) ? hipErrorNoDevice : hipErrorInvalidDevice;
}

hipError_t finish(hipError_t result) noexcept {
  if (before(700)) {
    last_error = result;  // of the last call, success included
  } else if (result != hipSuccess && result != hipErrorNotReady) {
    last_error = result;  // stays until it is asked for
  }
  return result;
}

}  // namespace bridge

extern "C" {

const char* hipGetErrorName(hipError_t error) { return bridge::name_of(error); }
// AMD's library has no sentences.
const char* hipGetErrorString(hipError_t error) { return bridge::name_of(error); }

hipError_t hipGetLastError() {
  const hipError_t error = bridge::last_error;
  bridge::last_error = hipSuccess;
  return error;
}
}
