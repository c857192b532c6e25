// SPDX-License-Identifier: Apache-2.0

// What must not compile, and with what the compiler must say so: each is compiled on its own, as WEIR_TEST_CASE says.

#include <vector>

#include "weir/stream.hpp"

void refused(weir::Stream& stream, const weir::KernelPtr& kernel, const weir::Buffer<int>& buffer) {
#if WEIR_TEST_CASE == 0
  stream.fill(buffer, 1);  // does compile, so that the others fail for no other reason
  stream.copy(buffer, weir::Span<int>(buffer));
  stream.launch(kernel, {4, 256}, buffer);
#elif WEIR_TEST_CASE == 1
  stream.fill(std::vector<int>(3), 1);
#elif WEIR_TEST_CASE == 2
  stream.copy(buffer, std::vector<int>(3));
#elif WEIR_TEST_CASE == 3
  stream.zero(weir::Buffer<int>());
#elif WEIR_TEST_CASE == 4
  stream.launch(kernel, {4, 2, 256}, buffer);
#elif WEIR_TEST_CASE == 5
  stream.launch(kernel, {4, 256}, std::vector<int>(3));
#endif
}
