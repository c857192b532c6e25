// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "weir/weir.hpp"

// Tests a third party's backend through the core: its features work, and missing features are refused with the reason.

using weir::Errc;
using weir::Error;

namespace {

weir::Device& immediate_device() { return weir::device("immediate"); }

}  // namespace

TEST_CASE("third party's backend: copies, fills, events and host functions") {
  const weir::StreamPtr stream = immediate_device().create_stream(), other = immediate_device().create_stream();
  std::vector<int> in(1000), out(1000);
  std::iota(in.begin(), in.end(), 0);
  const auto buffer = immediate_device().allocate<int>(1000);
  stream->copy(buffer, in);
  const weir::EventPtr start = stream->record({.timing = true});
  other->wait(*stream);
  other->copy(out, buffer);
  const weir::EventPtr end = other->record({.timing = true});
  CHECK(out == in);
  CHECK(end->elapsed_since(*start).count() >= 0);
  other->fill(buffer.subspan(500, 500), 7);
  other->copy(out, buffer);
  CHECK(out[499] == 499);
  CHECK(out[500] == 7);
  CHECK(out[999] == 7);
  int calls = 0;
  stream->launch_host_function([&calls] { ++calls; });
  CHECK(calls == 1);
}

TEST_CASE("third party's backend: synchronize rethrows a host function's exception once") {
  const weir::StreamPtr stream = immediate_device().create_stream();
  stream->launch_host_function([] { throw std::runtime_error("in the host function"); });
  CHECK_THROWS_WITH_AS(stream->synchronize(), "in the host function", std::runtime_error);
  stream->synchronize();
}

TEST_CASE("third party's backend: Weir called from a host function is refused") {
  const weir::StreamPtr stream = immediate_device().create_stream();
  Errc code{};
  stream->launch_host_function([&] {
    try {
      (void)stream->is_complete();
    } catch (const Error& error) {
      code = error.errc();
    }
  });
  CHECK(code == Errc::called_from_host_function);
}

TEST_CASE("third party's backend: the registry called from a host function is refused") {
  Errc code{};
  immediate_device().create_stream()->launch_host_function([&] {
    try {
      weir::default_device();
    } catch (const Error& error) {
      code = error.errc();
    }
  });
  CHECK(code == Errc::called_from_host_function);
}

TEST_CASE("third party's backend: what it lacks is refused with its reason") {
  const weir::StreamPtr stream = immediate_device().create_stream();
  try {
    stream->begin_capture();
    FAIL("a capture began");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::unsupported);
    CHECK(std::string(error.what()).find("work is done at once and cannot be recorded") != std::string::npos);
  }
  CHECK_FALSE(stream->is_capturing());
  try {
    immediate_device().require({weir::Feature::host_functions, weir::Feature::graph_capture, weir::Feature::modules});
    FAIL("all was there");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::unsupported);
    CHECK(error.detail().find("graph_capture") != std::string::npos);
    CHECK(error.detail().find("modules") != std::string::npos);
    CHECK(error.detail().find("host_functions") == std::string::npos);
  }
}

TEST_CASE("third party's backend: default streams, borrowed and closed streams") {
  CHECK(*immediate_device().default_stream() == *immediate_device().default_stream());
  CHECK(*immediate_device().default_stream() != *weir::device("immediate:1").default_stream());
  const weir::StreamPtr stream = immediate_device().create_stream();
  const weir::StreamPtr borrowed = immediate_device().wrap_stream(stream->share_native_handle(), weir::Ownership::borrow);
  CHECK(*borrowed == *stream);
  borrowed->close();
  stream->synchronize();
  stream->close();
  stream->close();
  CHECK_THROWS_AS(stream->synchronize(), Error);
}
