// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "subprocess.hpp"
#include "weir/abi.hpp"
#include "weir/version.hpp"

// Tests a program that was built with other headers or other options than the library. Its parts are compiled differently
// and linked into one program. For each call, the part that makes it must get the right result.

using weir::test::Outcome;
using weir::test::run;

namespace {

const char* const entries[] = {"instance", "default_device", "device", "cuda", "hip"};

Outcome call(const std::string& part) {
  std::vector<std::string> arguments = {part};
  arguments.insert(arguments.end(), std::begin(entries), std::end(entries));
  Outcome outcome = run(WEIR_TEST_HEADERS, arguments,
                        {{"WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS}, {"WEIR_BACKEND", "immediate"}});
  CHECK(outcome.status == 0);
  return outcome;
}

Outcome refused(const std::string& part) {
  Outcome outcome = call(part);
  for (const std::string entry : entries) {
    CAPTURE(entry);
    CHECK(outcome.says(entry + ": headers_incompatible\n"));
  }
  CHECK(outcome.count("libweir.so") == std::size(entries));
  return outcome;
}

}  // namespace

TEST_CASE("headers: a program that was built with this library's headers") {
  const Outcome outcome = call("fitting");
  for (const std::string entry : {"instance", "default_device", "device"}) CHECK(outcome.says(entry + ": fits\n"));
  CHECK_FALSE(outcome.says("headers_incompatible"));
}

TEST_CASE("headers: another patch release fits") { CHECK_FALSE(call("other_patch").says("headers_incompatible")); }

TEST_CASE("headers: another minor release is refused at each way to a backend, and the error names both sides") {
  const Outcome outcome = refused("other_minor");
  CHECK(outcome.says("built with the headers of Weir 0." + std::to_string(WEIR_VERSION_MINOR + 1) + "."));
  CHECK(outcome.says("runs with the library of Weir " WEIR_VERSION_STRING));
}

TEST_CASE("headers: another interface revision is refused at each way to a backend, and the error names both sides") {
  const Outcome outcome = refused("other_revision");
  CHECK(outcome.says("(interface revision " + std::to_string(weir::interface_revision + 1) + ")"));
  CHECK(outcome.says("(revision " + std::to_string(weir::interface_revision) + ")"));
}

TEST_CASE("headers: a program with another layout of containers is refused, and the error has both sides") {
  const Outcome outcome = refused("debug_containers");
  CHECK(outcome.says("the program was built with 'library=" WEIR_ABI_LIBRARY " debug-containers=1 layout="));
  CHECK(outcome.says("the library with 'library=" WEIR_ABI_LIBRARY " debug-containers=0 layout="));
  CHECK(outcome.says("_GLIBCXX_DEBUG"));
}

TEST_CASE("headers: the version is one number, one text, and what CMake says") {
  CHECK(WEIR_VERSION == WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH);
  CHECK(std::string(WEIR_VERSION_STRING) == WEIR_TEST_VERSION);
  CHECK(std::string(weir::version()) == WEIR_TEST_VERSION);
  CHECK(std::to_string(WEIR_VERSION_MAJOR) + "." + std::to_string(WEIR_VERSION_MINOR) + "." +
            std::to_string(WEIR_VERSION_PATCH) ==
        WEIR_VERSION_STRING);
}
