// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <stdexcept>

#include "weir/weir.hpp"

// Tests what the conformance suite of this third party's backend does not: host functions, which it calls on the thread that
// launches them, and the reasons of missing features.

using weir::Errc;
using weir::Error;

namespace {

weir::Device& immediate_device() { return weir::device("immediate"); }

}  // namespace

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

