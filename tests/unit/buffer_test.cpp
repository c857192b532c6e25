// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>

#include "weir/weir.hpp"

// Tests Buffer.

using weir::Buffer;
using weir::Errc;
using weir::Error;
using weir::MemoryKind;

namespace {

weir::Device& device() { return weir::device("immediate"); }

template <class F>
Errc code_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK_FALSE(error.detail().empty());
    return error.errc();
  }
  return Errc{};
}

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

}  // namespace

TEST_CASE("buffer: elements, bytes, kind and owner") {
  const Buffer<double> buffer = device().allocate<double>(100, MemoryKind::pinned);
  CHECK(buffer.size() == 100);
  CHECK(buffer.size_bytes() == 800);
  CHECK(buffer.data() != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256 == 0);
  CHECK(buffer.allocation()->kind() == MemoryKind::pinned);
  CHECK(&buffer.allocation()->device() == &device());
  CHECK(buffer.allocation()->stream() == nullptr);
}

TEST_CASE("buffer: share makes another owner of the memory") {
  Buffer<int> a = device().allocate<int>(3);
  Buffer<int> b = a.share();
  CHECK(b.data() == a.data());
  CHECK(a.allocation()->use_count() == 2);
  a.reset();
  CHECK(a.data() == nullptr);
  CHECK(a.size() == 0);
  CHECK(b.allocation()->use_count() == 1);
}

TEST_CASE("buffer: subspans must be within the buffer") {
  const Buffer<int> buffer = device().allocate<int>(10);
  CHECK(buffer.subspan(0, 10).size() == 10);
  CHECK(buffer.subspan(4, 6).data() == buffer.data() + 4);
  CHECK(buffer.subspan(10, 0).empty());
  struct Part {
    std::size_t offset, count;
  };
  for (const Part part :
       {Part{0, 11}, Part{10, 1}, Part{11, 0}, Part{5, 6}, Part{most, 1}, Part{1, most}, Part{5, most - 4}}) {
    CAPTURE(part.offset);
    CAPTURE(part.count);
    CHECK(code_of([&] { (void)buffer.subspan(part.offset, part.count); }) == Errc::invalid_argument);
  }
  try {
    (void)buffer.subspan(5, 6);
  } catch (const Error& error) {
    const std::string what = error.what();
    CHECK(what.find("6 elements from element 5") != std::string::npos);
    CHECK(what.find("buffer of 10") != std::string::npos);
  }
}

TEST_CASE("buffer: the host sees pinned memory, and not device memory") {
  const Buffer<int> pinned = device().allocate<int>(4, MemoryKind::pinned);
  CHECK(pinned.host_accessible());
  CHECK(pinned.host().size() == 4);
  CHECK(pinned.host().data() == pinned.data());
  const Buffer<int> memory = device().allocate<int>(4);
  CHECK_FALSE(memory.host_accessible());
  CHECK(code_of([&] { (void)memory.host(); }) == Errc::invalid_argument);
  CHECK(device().allocate<int>(0).host().empty());
  CHECK(Buffer<int>().host().empty());
}

TEST_CASE("buffer: zero elements, and more than any memory has") {
  const Buffer<int> none = device().allocate<int>(0);
  CHECK(none.data() == nullptr);
  CHECK(none.empty());
  CHECK(none.allocation() != nullptr);
  CHECK(code_of([] { (void)device().allocate<double>(most / 8 + 1); }) == Errc::invalid_argument);
  CHECK(code_of([] { (void)device().allocate<double>(most); }) == Errc::invalid_argument);
}

TEST_CASE("buffer: assigned, moved and moved from") {
  Buffer<int> a = device().allocate<int>(3);
  Buffer<int> b = std::move(a);
  CHECK(a.size() == 0);
  CHECK(a.data() == nullptr);
  CHECK(a.allocation() == nullptr);
  CHECK(b.size() == 3);
  a = b.share();
  CHECK(a.size() == 3);
  CHECK(b.allocation()->use_count() == 2);
  Buffer<int>& self = a;
  a = std::move(self);
  CHECK(a.size() == 3);
  b = std::move(a);
  CHECK(a.empty());
  CHECK(b.allocation()->use_count() == 1);
}

TEST_CASE("buffer: cannot be larger than its allocation") {
  const weir::AllocationPtr ten = device().allocate_bytes(10, MemoryKind::pinned);
  CHECK(Buffer<char>(ten, 10).host().size() == 10);
  CHECK(Buffer<int>(ten, 2).host().size() == 2);
  CHECK(code_of([&] { Buffer<char>(ten, 11); }) == Errc::invalid_argument);
  CHECK(code_of([&] { Buffer<int>(ten, 3); }) == Errc::invalid_argument);
  CHECK(code_of([&] { Buffer<int>(ten, most / 4 + 2); }) == Errc::invalid_argument);
  CHECK(code_of([&] { Buffer<int>(nullptr, 1); }) == Errc::invalid_argument);
  CHECK(Buffer<int>(nullptr, 0).empty());
}

TEST_CASE("buffer: a feature that the device lacks") {
  CHECK(code_of([] { (void)device().allocate<int>(1, MemoryKind::managed); }) == Errc::unsupported);
}
