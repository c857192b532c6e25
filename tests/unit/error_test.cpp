// SPDX-License-Identifier: Apache-2.0
#include "weir/error.hpp"

#include <doctest/doctest.h>

#include <ostream>  // doctest prints codes
#include <set>
#include <sstream>
#include <string>
#include <type_traits>

#include "weir/feature.hpp"

// Tests Error and its message.

using weir::Errc;
using weir::Error;

namespace {
constexpr int last_code = static_cast<int>(Errc::communicator_failed);
}

TEST_CASE("error: what() names operation, object, cause and remedy") {
  const Error error(Errc::stream_closed, "Stream::copy", "cuda:0 stream 0x10", "the stream was closed; create another");
  CHECK(std::string(error.what()) == "Stream::copy on cuda:0 stream 0x10: the stream was closed; create another");
  CHECK(error.errc() == Errc::stream_closed);
  CHECK(error.operation() == "Stream::copy");
  CHECK(error.object() == "cuda:0 stream 0x10");
  CHECK(error.detail() == "the stream was closed; create another");
  CHECK(error.native().code == 0);
}

TEST_CASE("error: what() without an object, and without a detail") {
  CHECK(std::string(Error(Errc::no_device, "open", "", "none is here").what()) == "open: none is here");
  CHECK(std::string(Error(Errc::no_device, "open", "hip", "").what()) == "open on hip: the driver reports no device");
}

TEST_CASE("error: what() keeps the driver's code, name and text") {
  const Error error(Errc::out_of_memory, "Device::allocate", "cuda:0", "1 GiB is not to be had; allocate less",
                    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"});
  CHECK(std::string(error.what()) ==
        "Device::allocate on cuda:0: 1 GiB is not to be had; allocate less [CUDA_ERROR_OUT_OF_MEMORY (2): out of memory]");
  CHECK(error.native().code == 2);
  CHECK(error.native().name == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(error.native().message == "out of memory");
  CHECK(std::string(Error(Errc::backend_failure, "f", "", "x", {7, "", ""}).what()) == "f: x [native error 7]");
}

TEST_CASE("error: control characters are shown as escapes, and only a detail has lines") {
  using namespace std::string_literals;
  const Error error(Errc::compilation_failed, "reading A='\n'", "backend x\0y"s, "\x1b[31mk.cu:1:\terror\nnäme \x7f\r\n",
                    {1, "E", "\x07"});
  CHECK(error.what() == "reading A='\\x0a' on backend x\\x00y: \\x1b[31mk.cu:1:\terror\nnäme \\x7f\\x0d\n [E (1): \\x07]"s);
  CHECK(error.operation() == "reading A='\\x0a'");
  CHECK(error.object() == "backend x\\x00y");
  CHECK(error.detail() == "\\x1b[31mk.cu:1:\terror\nnäme \\x7f\\x0d\n");
}

TEST_CASE("error: copying it needs no memory") {
  static_assert(std::is_nothrow_copy_constructible_v<Error> && std::is_nothrow_copy_assignable_v<Error>);
  Error a(Errc::wrong_device, "f", "x", "a text that is too long to be kept in place by any string");
  const Error b = a;
  CHECK(a.what() == b.what());  // the same characters
  a = Error(Errc::no_device, "g", "", "none");
  CHECK(a.errc() == Errc::no_device);
  CHECK(b.errc() == Errc::wrong_device);
  CHECK(b.operation() == "f");
}

TEST_CASE("error: is caught as std::system_error and compares with codes") {
  try {
    throw Error(Errc::out_of_memory, "Device::allocate", "host:0", "");
  } catch (const std::system_error& error) {
    CHECK(error.code() == Errc::out_of_memory);
    CHECK(error.code() != Errc::no_device);
    CHECK(&error.code().category() == &weir::error_category());
  }
}

TEST_CASE("error: every code has a word and a sentence of its own") {
  std::set<std::string> words, sentences;
  for (int code = 1; code <= last_code; ++code) {
    CAPTURE(code);
    words.emplace(to_string(static_cast<Errc>(code)));
    sentences.insert(weir::error_category().message(code));
  }
  CHECK(words.size() == last_code);
  CHECK(sentences.size() == last_code);
  CHECK(words.count("unknown") == 0);
  CHECK(to_string(Errc::stream_closed) == "stream_closed");
  CHECK(to_string(static_cast<Errc>(last_code + 1)) == "unknown");
  CHECK(std::string(weir::error_category().name()) == "weir");
}

TEST_CASE("error: enumerators print their names") {
  std::ostringstream text;
  text << Errc::stream_closed << ' ' << weir::Feature::graph_capture << ' ' << weir::Support::native;
  CHECK(text.str() == "stream_closed graph_capture native");
}
