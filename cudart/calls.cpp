// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cudart/state.hpp"

using weir::cudart::call;
namespace calls = weir::cudart::calls;

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
    bool& is_own = weir::cudart::this_thread().has_per_thread_default;   \
    const bool before = std::exchange(is_own, true);                     \
    const result error = call(#name, [&] { calls::name arguments; });    \
    is_own = before;                                                     \
    return error;                                                        \
  }
#define WEIR_CUDA_PLAIN_CALL(result, name, parameters, text)
#include "cudart/include/weir_cuda_calls.def"
}
#pragma GCC visibility pop
