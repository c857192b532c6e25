// SPDX-License-Identifier: Apache-2.0
#if __has_include(<dlpack/dlpack.h>)
#include "weir/interop/dlpack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "weir/registry.hpp"

using weir::Buffer;
using weir::Errc;
using weir::Error;

namespace {

Buffer<float> six() { return weir::device("host:0").allocate<float>(6, weir::MemoryKind::pinned); }

template <class F>
Errc refusal_code(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.errc();
  }
  return {};
}

}  // namespace

TEST_CASE("dlpack: a tensor owns the buffer's memory until its deleter is called") {
  Buffer<float> buffer = six();
  const weir::AllocationPtr memory = buffer.allocation();
  const std::array<std::int64_t, 2> shape = {2, 3};
  DLManagedTensor* const managed = weir::dlpack::to_tensor(buffer, shape);
  buffer.reset();
  CHECK(memory->use_count() == 2);
  const DLTensor& tensor = managed->dl_tensor;
  CHECK(tensor.data == memory->data());
  CHECK(tensor.ndim == 2);
  CHECK(tensor.shape[1] == 3);
  CHECK(tensor.dtype.code == kDLFloat);
  CHECK(tensor.dtype.bits == 32);
  CHECK(tensor.device.device_type == kDLCPU);
  CHECK(weir::dlpack::span_of<const float>(tensor).size() == 6);
  managed->deleter(managed);
  CHECK(memory->use_count() == 1);
}

TEST_CASE("dlpack: a shape of another size, another type and strides are refused") {
  const Buffer<float> buffer = six();
  for (const std::int64_t extent : {std::int64_t{5}, std::int64_t{-6}, std::int64_t{1} << 62}) {
    CHECK(refusal_code([&] { (void)weir::dlpack::to_tensor(buffer, std::array{extent}); }) == Errc::length_mismatch);
  }
  DLManagedTensor* const managed = weir::dlpack::to_tensor(buffer, std::array<std::int64_t, 2>{2, 3});
  DLTensor tensor = managed->dl_tensor;
  CHECK(refusal_code([&] { (void)weir::dlpack::span_of<std::int32_t>(tensor); }) == Errc::invalid_argument);
  CHECK(refusal_code([&] { (void)weir::dlpack::span_of<double>(tensor); }) == Errc::invalid_argument);
  std::array<std::int64_t, 2> strides = {3, 1};
  tensor.strides = strides.data();
  tensor.byte_offset = 4;
  CHECK(weir::dlpack::span_of<float>(tensor).data() == buffer.data() + 1);
  strides = {1, 2};
  CHECK(refusal_code([&] { (void)weir::dlpack::span_of<float>(tensor); }) == Errc::invalid_argument);
  tensor.strides = nullptr;
  tensor.byte_offset = 2;
  CHECK(refusal_code([&] { (void)weir::dlpack::span_of<float>(tensor); }) == Errc::invalid_argument);
  managed->deleter(managed);
}

TEST_CASE("dlpack: truth values have a type of their own, and long double has none") {
  constexpr int kdlbool = 6;
  const Buffer<bool> flags = weir::device("host:0").allocate<bool>(2);
  DLManagedTensor* const managed = weir::dlpack::to_tensor(flags, std::array<std::int64_t, 1>{2});
  CHECK(managed->dl_tensor.dtype.code == kdlbool);
  CHECK(managed->dl_tensor.dtype.bits == 8);
  CHECK(weir::dlpack::span_of<bool>(managed->dl_tensor).size() == 2);
  CHECK(refusal_code([&] { (void)weir::dlpack::span_of<std::uint8_t>(managed->dl_tensor); }) == Errc::invalid_argument);
  managed->deleter(managed);
  CHECK(weir::dlpack::data_type<long double>.bits == 0);
}

TEST_CASE("dlpack: no shape stands for a number of elements that it does not have") {
  const Buffer<float> none;
  std::array<std::int64_t, 2> impossible[] = {{-1, 3}, {std::int64_t{1} << 32, std::int64_t{1} << 32}};
  for (const auto& shape : impossible)
    CHECK(refusal_code([&] { weir::dlpack::to_tensor(none, shape); }) == Errc::length_mismatch);
  DLManagedTensor* const managed = weir::dlpack::to_tensor(none, std::array<std::int64_t, 2>{0, 3});
  DLTensor tensor = managed->dl_tensor;
  std::array<std::int64_t, 2> strides = {6, 2};  // no element is anywhere
  tensor.strides = strides.data();
  CHECK(weir::dlpack::span_of<float>(tensor).empty());
  tensor.strides = nullptr;
  float data[1] = {};
  tensor.data = data;
  const auto is_refused = [&] {
    return refusal_code([&] { (void)weir::dlpack::span_of<float>(tensor); }) == Errc::invalid_argument;
  };
  for (auto& shape : impossible) {
    tensor.shape = shape.data();
    CHECK(is_refused());
  }
  // As many elements as fit, and more bytes than that.
  std::array<std::int64_t, 2> large = {std::int64_t{1} << 31, std::int64_t{1} << 31};
  tensor.shape = large.data();
  CHECK(is_refused());
  std::array<std::int64_t, 2> ones = {1, 1};
  tensor.shape = ones.data();
  for (const int dimensions : {-1, std::numeric_limits<int>::min()}) {
    tensor.ndim = dimensions;
    CHECK(is_refused());
  }
  tensor.ndim = 2;
  tensor.shape = nullptr;
  CHECK(is_refused());
  tensor.ndim = 0;  // one element
  CHECK(weir::dlpack::span_of<float>(tensor).size() == 1);
  managed->deleter(managed);
}
#endif

// Tests DLPack tensors made of buffers and buffers made of tensors.
