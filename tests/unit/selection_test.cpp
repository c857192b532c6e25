// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/selection.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "weir/error.hpp"

// Tests the parser of WEIR_BACKEND.

using weir::Errc;
using weir::Error;
using weir::detail::is_backend_name;
using weir::detail::parse_device_name;
using weir::detail::parse_selection;

namespace {

constexpr std::array<std::string_view, 3> known = {"cuda", "hip", "host"};
using Names = std::vector<std::string>;

// The message of the refusal, having checked its code; empty if there was none.
std::string refusal(const std::string& value) {
  try {
    parse_selection(value, known);
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_environment);
    return error.what();
  }
  return {};
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("selection: nothing and auto are the known backends in their order") {
  for (const auto& value : {std::optional<std::string>(), std::optional<std::string>("auto")}) {
    const auto selection = parse_selection(value, known);
    CHECK(selection.automatic);
    CHECK(selection.names == Names{"cuda", "hip", "host"});
  }
}

TEST_CASE("selection: a name, a list, and third parties' names") {
  CHECK(parse_selection("host", known).names == Names{"host"});
  CHECK_FALSE(parse_selection("host", known).automatic);
  CHECK(parse_selection("hip,cuda", known).names == Names{"hip", "cuda"});
  CHECK(parse_selection("my_npu2,host", known).names == Names{"my_npu2", "host"});
}

TEST_CASE("selection: an empty value and an empty element are errors that list the known names") {
  for (const std::string value : {"", ",", "cuda,,host", ",cuda", "cuda,"}) {
    CAPTURE(value);
    const std::string text = refusal(value);
    CHECK(says(text, "WEIR_BACKEND='" + std::string(value) + "'"));
    CHECK(says(text, "empty"));
    CHECK(says(text, "known: cuda, hip, host"));
  }
  CHECK(says(refusal("cuda,,host"), "element 2 is empty"));
  CHECK(says(refusal("cuda,"), "element 2 is empty"));
  CHECK(says(refusal(","), "element 1 is empty"));
  CHECK(says(refusal(""), "unset it"));
}

TEST_CASE("selection: characters that no name has are errors") {
  for (const std::string value : {"CUDA", " cuda", "cuda ", "cuda, host", "cuda:0", "cuda;host", "../evil", "cuda.so",
                                  "1gpu", "_x", "/lib/x", "n\xc3\xa4me", "cuda\n"}) {
    CAPTURE(value);
    CHECK(says(refusal(value), "[a-z][a-z0-9_]*"));
  }
  CHECK(says(refusal("CUDA"), "did you mean 'cuda'?"));
  CHECK(says(refusal("cuda\n"), "'cuda\\x0a' is not a valid name of a backend"));
  CHECK(says(refusal("cuda, host"), "did you mean 'host'?"));
  CHECK(says(refusal("/lib/x"), "known: cuda, hip, host"));
}

TEST_CASE("selection: auto is alone, and no name is repeated") {
  CHECK(says(refusal("cuda,auto"), "'auto' cannot be in a list"));
  CHECK(says(refusal("auto,host"), "cuda,hip,host"));
  CHECK(says(refusal("host,cuda,host"), "'host' is listed twice"));
}

TEST_CASE("selection: valid names of backends") {
  for (const char* name : {"cuda", "x", "a1", "a_b", "my_npu2"}) CHECK(is_backend_name(name));
  for (const char* name : {"", "auto", "A", "1a", "_a", "a-b", "a.b", "a/b", "a b"}) CHECK_FALSE(is_backend_name(name));
}

TEST_CASE("selection: names of devices") {
  CHECK(parse_device_name("host", known).backend == "host");
  CHECK(parse_device_name("host", known).ordinal == 0);
  CHECK(parse_device_name("cuda:12", known).backend == "cuda");
  CHECK(parse_device_name("cuda:12", known).ordinal == 12);
  for (const std::string name : {"", ":", ":0", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda:1x", "cuda:1:2", "cuda: 1",
                                 "auto", "CUDA:0", "cuda:99999999999"}) {
    CAPTURE(name);
    bool refused = false;
    try {
      parse_device_name(name, known);
    } catch (const Error& error) {
      refused = true;
      CHECK(error.errc() == Errc::invalid_argument);
      CHECK(says(error.what(), "'" + std::string(name) + "'"));
      CHECK(says(error.what(), "'cuda:1'"));
    }
    CHECK(refused);
  }
}

TEST_CASE("selection: other names of a device are answered with the one that was meant") {
  const auto refusal_of = [](const char* name) -> std::string {
    try {
      parse_device_name(name, known);
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  };
  CHECK(says(refusal_of("Host"), "did you mean 'host'?"));
  CHECK(says(refusal_of("CPU:0"), "did you mean 'host'?"));
  CHECK(says(refusal_of("GPU"), "did you mean 'cuda' or 'hip'?"));
  CHECK_FALSE(says(refusal_of("cuda:x"), "did you mean"));
  using weir::detail::meant_backend;
  CHECK(meant_backend("cpu", known) == "'host'");
  CHECK(meant_backend("gpu", known) == "'cuda' or 'hip'");
  CHECK(meant_backend("hosst", known) == "'host'");
  CHECK(meant_backend("my_npu", known).empty());
}
