// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "subprocess.hpp"

// Tests the choice of the default backend.

using weir::test::Environment;
using weir::test::Outcome;
using weir::test::run;
using weir::test::run_child;
using weir::test::TemporaryFolder;

namespace {

Outcome default_with(const std::string& backend, Environment more = {}) {
  more["WEIR_BACKEND"] = backend;
  return run_child({"default"}, std::move(more));
}

// A library that has no plugins at all beside it.
class BareLibrary {
 public:
  BareLibrary() : library_(folder_.copy(WEIR_TEST_LIBRARY, "libweir.so")) {}
  Outcome run_default(Environment environment) const {
    environment["LD_PRELOAD"] = library_;
    environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
    return run(WEIR_TEST_CHILD, {"default"}, environment);
  }

 private:
  TemporaryFolder folder_;
  std::string library_;
};

}  // namespace

TEST_CASE("default backend: a known backend whose plugin is missing is an error with its remedy") {
  const Outcome missing = BareLibrary().run_default({{"WEIR_BACKEND", "cuda"}});
  CHECK(missing.says("error: plugin_not_found"));
  CHECK(missing.says("WEIR_BACKEND=cuda: its plugin libweir_cuda.so was not found"));
  CHECK(missing.says("-DWEIR_BACKEND_CUDA=ON"));
  CHECK(missing.says("WEIR_PLUGIN_PATH"));
  CHECK(missing.says("/libweir_cuda.so (No such file or directory)"));
}

TEST_CASE("default backend: the first usable one of a list") {
  CHECK(default_with("immediate").says("default: immediate:0"));
  const Outcome second = default_with("misfit,immediate", {{"WEIR_TEST_FACTORY", "no_device"}, {"WEIR_LOG", "info"}});
  CHECK(second.says("default: immediate:0"));
  CHECK(second.complains("weir info: skipped backend misfit (WEIR_BACKEND=misfit,immediate): "));
  CHECK(second.complains("weir info: default backend: immediate"));
  const Outcome first = default_with("immediate,misfit");
  CHECK(first.says("default: immediate:0"));
  CHECK_FALSE(first.says("factory called"));
}

TEST_CASE("default backend: a skipped backend that seemed meant to work is a warning") {
  for (const char* how : {"driver_too_old", "driver_failed"}) {
    const Outcome outcome = default_with("misfit,immediate", {{"WEIR_TEST_FACTORY", how}});
    CHECK(outcome.says("default: immediate:0"));
    CHECK(outcome.complains("weir warn: skipped backend misfit"));
  }
  for (const char* how : {"driver_not_found", "no_device"}) {
    const Outcome outcome = default_with("misfit,immediate", {{"WEIR_TEST_FACTORY", how}});
    CHECK(outcome.says("default: immediate:0"));
    CHECK(outcome.errors.empty());
  }
}

TEST_CASE("default backend: a named backend that is not usable is an error; nothing stands in for it") {
  const Outcome outcome = default_with("misfit", {{"WEIR_TEST_FACTORY", "no_device"}});
  CHECK(outcome.says("error: no_device"));
  CHECK(outcome.says("Registry::default_backend on WEIR_BACKEND=misfit: "));
  CHECK(outcome.says("[MISFIT_NO_DEVICE (100): no device is here]"));
  CHECK_FALSE(outcome.says("default:"));
}

TEST_CASE("default backend: if none of a list is usable, the error has a reason for each") {
  const Outcome outcome = default_with("misfit,text", {{"WEIR_TEST_FACTORY", "driver_failed"}});
  CHECK(outcome.says("error: plugin_incompatible"));  // that of the last one
  CHECK(outcome.says("no backend is usable"));
  CHECK(outcome.says("\n  misfit: misfitInit: the driver did not start"));
  CHECK(outcome.says("\n  text: the plugin " WEIR_TEST_PLUGINS "/libweir_text.so cannot be used"));
}

TEST_CASE("default backend: an unknown name in a list is an error, also behind a usable one") {
  for (const char* list : {"immediate,nosuch", "nosuch,immediate"}) {
    const Outcome outcome = default_with(list);
    CHECK(outcome.says("error: backend_unknown"));
    CHECK(outcome.says("'nosuch'"));
  }
  // Nor is a driver's variable that does not parse passed over.
  const Outcome variable = default_with("misfit,immediate", {{"WEIR_TEST_FACTORY", "invalid_environment"}});
  CHECK(variable.says("error: invalid_environment"));
  CHECK_FALSE(variable.says("default:"));
}

TEST_CASE("default backend: auto without any plugin names every backend, its reason and remedy") {
  for (const Environment& environment : {Environment{}, Environment{{"WEIR_BACKEND", "auto"}}}) {
    const Outcome outcome = BareLibrary().run_default(environment);
    CHECK(outcome.says("error: plugin_not_found"));
    for (const char* name : {"cuda", "hip", "host"}) {
      CHECK(outcome.says("\n  " + std::string(name) + ": its plugin libweir_" + name + ".so was not found"));
    }
    CHECK(outcome.says("-DWEIR_BACKEND_HOST=ON"));
  }
}

TEST_CASE("default backend: WEIR_DEVICE selects one of the existing devices") {
  CHECK(default_with("immediate", {{"WEIR_DEVICE", "1"}}).says("default: immediate:1"));
  const Outcome outcome = default_with("immediate", {{"WEIR_DEVICE", "2"}});
  CHECK(outcome.says("error: invalid_environment"));
  CHECK(outcome.says("WEIR_DEVICE='2': backend immediate has 2 devices; use a number from 0 to 1"));
}

#if WEIR_TEST_HAS_HOST
TEST_CASE("default backend: host can be named, and auto finds a device anywhere") {
  CHECK(default_with("host").says("default: host:0"));
  for (const Environment& environment : {Environment{}, Environment{{"WEIR_BACKEND", "auto"}}}) {
    const Outcome outcome = run_child({"default"}, environment);
    CHECK(outcome.says("default: "));
    CHECK_FALSE(outcome.says("error: "));
  }
  // Where no vendor's driver can be opened, auto is host.
  const Outcome alone = run_child(
      {"default"}, {{"WEIR_CUDA_DRIVER", "/nonexistent/libcuda.so.1"}, {"WEIR_HIP_RUNTIME", "/nonexistent/libamdhip64.so"}});
  CHECK(alone.says("default: host:0"));
}
#endif
