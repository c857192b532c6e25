// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string_view>

#include "cudart/state.hpp"

namespace weir::cudart {

namespace {

constinit thread_local Thread thread_state;

cudaError_t number_of(Errc code) noexcept {
  // clang-format off
  static constexpr std::pair<Errc, cudaError_t> numbers[] = {
    {Errc::invalid_argument, cudaErrorInvalidValue}, {Errc::length_mismatch, cudaErrorInvalidValue},
    {Errc::stream_closed, cudaErrorInvalidResourceHandle}, {Errc::wrong_device, cudaErrorInvalidResourceHandle},
    {Errc::wrong_thread, cudaErrorInvalidResourceHandle}, {Errc::timing_disabled, cudaErrorInvalidResourceHandle},
    {Errc::not_recorded, cudaErrorInvalidResourceHandle}, {Errc::unsupported, cudaErrorNotSupported},
    {Errc::called_from_host_function, cudaErrorNotPermitted}, {Errc::capture_unsupported, cudaErrorStreamCaptureUnsupported},
    {Errc::capture_invalidated, cudaErrorStreamCaptureInvalidated}, {Errc::capture_merge, cudaErrorStreamCaptureMerge},
    {Errc::capture_unmatched, cudaErrorStreamCaptureUnmatched}, {Errc::capture_unjoined, cudaErrorStreamCaptureUnjoined},
    {Errc::capture_isolation, cudaErrorStreamCaptureIsolation}, {Errc::capture_implicit, cudaErrorStreamCaptureImplicit},
    {Errc::captured_event, cudaErrorCapturedEvent}, {Errc::capture_wrong_thread, cudaErrorStreamCaptureWrongThread},
    {Errc::not_capturing, cudaErrorIllegalState}, {Errc::already_capturing, cudaErrorIllegalState},
    {Errc::not_ready, cudaErrorNotReady}, {Errc::out_of_memory, cudaErrorMemoryAllocation},
    {Errc::pool_exhausted, cudaErrorMemoryAllocation}, {Errc::compilation_failed, cudaErrorInvalidKernelImage},
    {Errc::compiler_not_found, cudaErrorJitCompilerNotFound}, {Errc::invalid_image, cudaErrorNoKernelImageForDevice},
    {Errc::kernel_not_found, cudaErrorInvalidDeviceFunction}, {Errc::graph_update_failed, cudaErrorGraphExecUpdateFailure},
    {Errc::no_device, cudaErrorNoDevice}, {Errc::driver_not_found, cudaErrorInsufficientDriver},
    {Errc::driver_too_old, cudaErrorInsufficientDriver}, {Errc::device_fault, cudaErrorLaunchFailure},
    {Errc::backend_failure, cudaErrorUnknown}, {Errc::communicator_failed, cudaErrorUnknown}
  };
  // clang-format on
  const auto* const found = std::ranges::find(numbers, code, &std::pair<Errc, cudaError_t>::first);
  return found != std::end(numbers) ? found->second : cudaErrorInitializationError;  // of the backend
}

struct ErrorText {
  int number;
  const char* name;
  const char* text;
};
constexpr ErrorText error_texts[] = {
#define WEIR_CUDA_ERROR(number, name, text) {number, #name, text},
#include "cudart/include/weir_cuda_errors.def"
};

ErrorText text_of(cudaError_t error) noexcept {
  constexpr const char* none = "unrecognized error code";
  const auto* const found = std::ranges::find(error_texts, static_cast<int>(error), &ErrorText::number);
  return found != std::end(error_texts) ? *found : ErrorText{error, none, none};
}

// Whether the text of an error is to be printed, like a line of Weir's log at this level.
bool is_logged() noexcept {
  static const bool logged = [] {
    const char* const level = secure_getenv("WEIR_LOG");
    return level != nullptr && (std::string_view(level) == "info" || std::string_view(level) == "debug");
  }();
  return logged;
}

// Whether an assertion failed whose text no driver prints.
bool is_assertion(const Error& error) noexcept {
  return error.errc() == Errc::device_fault && error.detail().find("the assertion '") != std::string::npos;
}

// Prints "FILE:LINE: the assertion 'CONDITION' of THREADS fails" with CUDA's words.
void print_assertion(const std::string& text) {
  const std::size_t begin = text.find("the assertion '"), end = text.rfind("' of "), last = text.rfind(" fails");
  const std::string who = text.substr(end + 5, last - end - 5), what = text.substr(begin + 15, end - begin - 15);
  std::fprintf(stderr, "%s%s Assertion `%s` failed.\n", text.substr(0, begin).c_str(), who.c_str(), what.c_str());
}

// The number of an error of Weir. CUDA's driver and runtime have the same numbers; the driver's is more exact.
cudaError_t number_of(const Error& error) noexcept {
  if (error.native().code != 0 && error.native().name.starts_with("CUDA_ERROR_"))
    return static_cast<cudaError_t>(error.native().code);
  if (is_assertion(error)) return cudaErrorAssert;
  return number_of(error.errc());
}

}  // namespace

Thread& this_thread() noexcept { return thread_state; }

cudaError_t ended(cudaError_t error) noexcept {
  if (error != cudaSuccess) thread_state.last_error = error;
  return error;
}

cudaError_t failed(const char* name) noexcept {
  cudaError_t error = cudaErrorUnknown;
  try {
    throw;
  } catch (const Failure& failure) {
    error = failure.error;
    if (error != cudaErrorNotReady && is_logged())
      std::fprintf(stderr, "weir info: cudart: %s: %s\n", name, text_of(error).name);
  } catch (const Error& thrown) {
    error = number_of(thrown);
    if (is_logged()) std::fprintf(stderr, "weir info: cudart: %s: %s: %s\n", name, text_of(error).name, thrown.what());
    // Weir lets a capture continue after a call that it does not allow. In CUDA such a call invalidates the capture.
    using enum Errc;
    for (const Errc illegal : {capture_unsupported, capture_implicit, capture_merge, capture_isolation})
      thread_state.capture_failed |= thrown.errc() == illegal;
    if (thrown.errc() == Errc::device_fault) {
      cudaError_t none = cudaSuccess;
      try {
        const bool first = current().fault.compare_exchange_strong(none, error);
        if (first && is_assertion(thrown)) print_assertion(thrown.detail());
      } catch (...) {  // the error itself is reported
      }
    }
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  } catch (...) {
  }
  return ended(error);
}

namespace {

// The error that a lost device gives to every call.
cudaError_t lasting_error() noexcept {
  if (thread_state.device < 0) return cudaSuccess;
  try {
    return current().fault.load();
  } catch (...) {
    return cudaSuccess;
  }
}

}  // namespace
}  // namespace weir::cudart

using namespace weir::cudart;

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t lasting = lasting_error();
  const cudaError_t error = std::exchange(this_thread().last_error, lasting);
  return lasting != cudaSuccess ? lasting : error;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t lasting = lasting_error();
  return lasting != cudaSuccess ? lasting : this_thread().last_error;
}

const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }

}  // extern "C"
