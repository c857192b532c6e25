// SPDX-License-Identifier: Apache-2.0

// A plugin whose factory fails in the way that WEIR_TEST_FACTORY selects. Tests change its note in the file.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "weir/plugin/plugin.hpp"

#ifndef WEIR_TEST_NAME
#define WEIR_TEST_NAME "misfit"
#endif

namespace {

using weir::Errc;
using weir::Error;

std::string_view asked(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

class Hollow final : public weir::BackendImpl {
 public:
  explicit Hollow(const char* name) : BackendImpl(name) {}
};

weir::Backend* create(weir::PluginContext& context) {
  std::puts("factory called");
  context.tried("libmisfit.so.1", "cannot open shared object file");
  const std::string_view how = asked("WEIR_TEST_FACTORY");
  const std::pair<std::string_view, Error> errors[] = {
      {"driver_not_found", {Errc::driver_not_found, "", "", "no driver library could be opened; install the misfit driver"}},
      {"driver_too_old", {Errc::driver_too_old, "", "", "libmisfit.so.1 lacks misfitStreamCreate; install release 2"}},
      {"no_device",
       {Errc::no_device, "misfitInit", "", "the driver shows no device", {100, "MISFIT_NO_DEVICE", "no device is here"}}},
      {"driver_failed",
       {Errc::driver_failed, "misfitInit", "", "the driver did not start", {999, "MISFIT_UNKNOWN", "unknown error"}}},
      {"invalid_environment", {Errc::invalid_environment, "reading MISFIT_DEVICES='x'", "", "it is not a number; give one"}},
      {"unexpected_code", {Errc::stream_closed, "Stream::copy", "", "a code that no factory should throw"}},
  };
  for (const auto& [name, error] : errors) {
    if (how == name) throw Error(error);
  }
  if (how == "dawdles") {  // so that whoever else wants the backend comes in the meantime
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    throw Error(Errc::driver_failed, "misfitInit", "", "the driver did not start, and took its time");
  }
  if (how == "exception") throw std::runtime_error("the factory tripped");
  if (how == "bad_alloc") throw std::bad_alloc();
  if (how == "integer") throw 42;
  if (how == "null") return nullptr;
  if (how == "other_name") return new Hollow("fits");
  if (how == "no_devices") return new Hollow("misfit");
  if (how == "asks_for_itself") weir::Registry::instance().open("misfit");
  if (how == "asks_for_default") weir::Registry::instance().default_backend();
  if (how == "opens_another") {
    std::printf("within: %s\n", weir::Registry::instance().open("immediate").name().c_str());
    return new Hollow("misfit");
  }
  if (how == "waits") {  // until the test writes to the pipe whose descriptor it names
    char byte = 0;
    std::puts("factory waits");
    std::fflush(stdout);
    if (::read(std::atoi(std::getenv("WEIR_TEST_PIPE")), &byte, 1) == 1) std::puts("factory goes on");
    return new Hollow("misfit");
  }
  throw std::logic_error("WEIR_TEST_FACTORY asks for nothing that there is");
}

[[maybe_unused]] const int constructed = std::puts("a constructor ran");

}  // namespace

WEIR_PLUGIN(WEIR_TEST_NAME, "2.0-test", create)
