// SPDX-License-Identifier: Apache-2.0

// Code that must not compile, and the required part of the compiler's message. Each case is compiled separately;
// WEIR_TEST_CASE selects it.

#include <vector>

#include "weir/communicator.hpp"
#include "weir/device.hpp"
#include "weir/result.hpp"
#include "weir/stream.hpp"

using Typed = weir::TypedKernel<void(int, float, const float*, int*)>;

void refused(weir::Stream& stream, const weir::KernelPtr& kernel, const weir::Buffer<int>& buffer, const Typed& typed,
             const weir::Buffer<float>& floats, [[maybe_unused]] std::size_t size,
             [[maybe_unused]] weir::Communicator& communicator) {
#if WEIR_TEST_CASE == 0
  stream.fill(buffer, 1);  // does compile, so that the others fail for no other reason
  stream.copy(buffer, weir::Span<int>(buffer));
  stream.launch(kernel, {4, 256}, buffer);
  stream.launch(typed, {4, 256}, 5, 2.0, floats, buffer);
  enum Color { red };
  stream.launch(typed, {4, 256}, red, 2.0, floats, buffer);
  communicator.all_reduce(buffer, buffer.span(), weir::Reduction::sum, stream);
#elif WEIR_TEST_CASE == 1
  stream.fill(std::vector<int>(3), 1);
#elif WEIR_TEST_CASE == 2
  stream.copy(buffer, std::vector<int>(3));
#elif WEIR_TEST_CASE == 3
  stream.zero(weir::Buffer<int>());
#elif WEIR_TEST_CASE == 4
  const weir::Buffer<int> copy = buffer;
#elif WEIR_TEST_CASE == 5
  stream.launch(kernel, {4, 256}, std::vector<int>(3));
#elif WEIR_TEST_CASE == 6
  stream.launch(typed, {4, 256}, size, 2.0F, floats, buffer);
#elif WEIR_TEST_CASE == 7
  stream.launch(typed, {4, 256}, 5, 2.0F, floats, floats);
#elif WEIR_TEST_CASE == 8
  stream.launch(typed, {4, 256}, 5, 2.0F, floats);
#elif WEIR_TEST_CASE == 9
  stream.launch(typed, {4, 256}, 2.5, 2.0F, floats, buffer);
#elif WEIR_TEST_CASE == 10
  stream.launch(typed, {4, 256}, 3000000000U, 2.0F, floats, buffer);
#elif WEIR_TEST_CASE == 11
  stream.launch(typed, {4, 256}, 5, 2.0F, floats, weir::Span<const int>(buffer));
#elif WEIR_TEST_CASE == 12
  weir::TypedKernel<int(float)>();
#elif WEIR_TEST_CASE == 13
  weir::TypedKernel<void(const int&)>();
#elif WEIR_TEST_CASE == 14
  stream.launch(kernel, {4, 256}, "text");
#elif WEIR_TEST_CASE == 15
  struct Holder {
    weir::Buffer<int> data;
  };
  stream.launch(kernel, {4, 256}, Holder{buffer.share()});
#elif WEIR_TEST_CASE == 16
  stream.record();
#elif WEIR_TEST_CASE == 17
  stream.synchronize_for(std::chrono::seconds(1));
#elif WEIR_TEST_CASE == 18
  stream.device().allocate<int>(3);
#elif WEIR_TEST_CASE == 19
  kernel->module()->kernel("k");
#elif WEIR_TEST_CASE == 20
  communicator.all_reduce(std::vector<int>(3), buffer, weir::Reduction::sum, stream);
#elif WEIR_TEST_CASE == 21
  communicator.broadcast(std::vector<int>(3), 0, stream);
#elif WEIR_TEST_CASE == 22
  enum Sign : int { minus = -1 };
  stream.launch(weir::TypedKernel<void(unsigned)>(kernel), {4, 256}, minus);
#elif WEIR_TEST_CASE == 23
  stream.copy(weir::PitchedSpan<const int>{buffer.data(), {5}}, weir::pitched(buffer, {5}));
#elif WEIR_TEST_CASE == 24
  stream.fill(weir::PitchedSpan<double>{nullptr, {5}}, 1.0);
#elif WEIR_TEST_CASE == 25
  stream.copy(weir::pitched(std::vector<int>(5), {5}), weir::pitched(buffer, {5}));
#elif WEIR_TEST_CASE == 26
  weir::attempt([&] { stream.synchronize(); });
#elif WEIR_TEST_CASE == 27
  (void)buffer[0];
#elif WEIR_TEST_CASE == 28
  (void)buffer.span()[0];
#elif WEIR_TEST_CASE == 29
  communicator.all_reduce(buffer, weir::Span<const int>(buffer), weir::Reduction::sum, stream);
#elif WEIR_TEST_CASE == 30
  stream.copy(weir::Span<const int>(buffer), buffer);
#elif WEIR_TEST_CASE == 31
  stream.copy(buffer, floats);
#elif WEIR_TEST_CASE == 32
  const weir::StreamRef gone = stream.device().create_stream();
  const weir::EventRef gone_too{stream.record()};
#endif
}
