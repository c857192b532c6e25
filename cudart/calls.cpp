// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cudart/state.hpp"

using weir::cudart::call;
namespace calls = weir::cudart::calls;

namespace {

/// While it lives, the calling thread's default stream is its own.
class PerThreadDefault {
 public:
  PerThreadDefault() noexcept : before_(std::exchange(weir::cudart::this_thread().has_per_thread_default, true)) {}
  ~PerThreadDefault() { weir::cudart::this_thread().has_per_thread_default = before_; }
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;

 private:
  bool before_;
};

}  // namespace

// The calls as programs see them, made from the table.
#pragma GCC visibility push(default)
extern "C" {
#define WEIR_CUDA_CALL(result, name, parameters, arguments, text) \
  result name parameters {                                        \
    return call(#name, [&] { calls::name arguments; });           \
  }
#define WEIR_CUDA_STREAM_CALL(result, name, parameters, arguments, text) \
  WEIR_CUDA_CALL(result, name, parameters, arguments, text)              \
  result name##_ptsz parameters {                                        \
    const PerThreadDefault per_thread;                                   \
    return call(#name, [&] { calls::name arguments; });                  \
  }
#define WEIR_CUDA_PLAIN_CALL(result, name, parameters, text)
#include "cudart/include/weir_cuda_calls.def"
}
#pragma GCC visibility pop
