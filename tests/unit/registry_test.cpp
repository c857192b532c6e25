// SPDX-License-Identifier: Apache-2.0
#include "weir/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "subprocess.hpp"

using weir::Errc;
using weir::Error;
using weir::Registry;
using weir::test::Environment;
using weir::test::Outcome;
using weir::test::run_child;
using weir::test::TemporaryFolder;

namespace {

// Opens the plugin `misfit` twice and probes it. The outcome must be the same each time, and its factory must be called
// once.
Outcome factory(const std::string& how, const std::string& code, const std::string& state) {
  CAPTURE(how);
  Outcome outcome = run_child({"open", "misfit", "open", "misfit", "probe", "misfit"}, {{"WEIR_TEST_FACTORY", how}});
  CAPTURE(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(outcome.count("error: " + code + "\n") == 2);
  CHECK(outcome.says("misfit: " + state + "\n"));
  CHECK(outcome.count("factory called") == 1);
  CHECK(outcome.says("plugin: " WEIR_TEST_PLUGINS "/libweir_misfit.so 2.0-test"));
  CHECK(outcome.says("tried: libmisfit.so.1: cannot open shared object file"));
  CHECK_FALSE(outcome.says("(opened)"));  // the plugin itself, which is not what the error is about
  return outcome;
}

}  // namespace

TEST_CASE("registry: a third party's backend is opened by name, once") {
  Registry& registry = Registry::instance();
  CHECK(&registry == &Registry::instance());
  weir::Backend& backend = registry.open("immediate");
  CHECK(&backend == &registry.open("immediate"));
  CHECK(backend.name() == "immediate");
  CHECK(backend.device_count() == 2);
  const weir::BackendInfo& info = registry.probe("immediate");
  CHECK(&info == &registry.probe("immediate"));
  CHECK(info.backend == &backend);
  CHECK(info.state == weir::BackendState::usable);
  CHECK(info.reason.empty());
  CHECK(info.plugin_path == WEIR_TEST_PLUGINS "/libweir_immediate.so");
  CHECK(info.plugin_version == "1.0");
  REQUIRE(info.attempts.size() == 1);
  CHECK(info.attempts[0].outcome == "opened");
}

TEST_CASE("registry: the devices of all usable backends") {
  const weir::Backend& immediate = Registry::instance().open("immediate");
  const std::vector<weir::Device*> all = weir::devices();
  for (int i = 0; i < immediate.device_count(); ++i) CHECK(std::count(all.begin(), all.end(), &immediate.device(i)) == 1);
  std::size_t counted = 0;
  for (const weir::BackendInfo& info : Registry::instance().probe_all()) {
    counted += info.backend != nullptr ? static_cast<std::size_t>(info.backend->device_count()) : 0;
  }
  CHECK(all.size() == counted);
}

TEST_CASE("registry: devices by name") {
  CHECK(&weir::device("immediate") == &Registry::instance().open("immediate").device(0));
  CHECK(&weir::device("immediate:1") == &Registry::instance().open("immediate").device(1));
  CHECK_THROWS_AS(weir::device("immediate:2"), Error);
  CHECK_THROWS_AS(weir::device("immediate:"), Error);
  CHECK(run_child({"device", "immediate:2"}).says("error: invalid_argument"));
  CHECK(run_child({"device", "nosuch:0"}).says("error: backend_unknown"));
  CHECK(run_child({"device", "cpu"}).says("there is no backend 'cpu' (did you mean 'host'?): "));
  CHECK(run_child({"device", "gpu:0"}).says("there is no backend 'gpu' (did you mean 'cuda' or 'hip'?): "));
}

TEST_CASE("registry: an unknown name is an error") {
  const Outcome outcome = run_child(
      {"open", "nosuch", "probe", "nosuch", "open", "hots", "open", "../evil", "open", "", "open", "a\nb"});
  CHECK(outcome.count("error: backend_unknown") == 5);
  CHECK(outcome.says("there is no backend 'nosuch': the known ones are cuda, hip, host"));
  CHECK(outcome.says("WEIR_PLUGIN_PATH"));
  CHECK(outcome.says("tried " WEIR_TEST_PLUGINS "/libweir_nosuch.so (No such file or directory)"));
  CHECK(outcome.says("nosuch: plugin_not_found"));
  CHECK(outcome.says("there is no backend '../evil'"));
  CHECK(outcome.says("there is no backend '': names have the form [a-z][a-z0-9_]*"));
  CHECK(outcome.says("there is no backend 'a\\x0ab'"));
  CHECK_FALSE(outcome.says("a\nb"));
  CHECK_FALSE(outcome.says("libweir_../evil.so"));
  CHECK_FALSE(outcome.says("libweir_.so"));
}

TEST_CASE("registry: an error names the files that it is about, and no others") {
  // The folder before the plugin's own has none.
  const TemporaryFolder empty;
  const auto what = [&](const char* how) {
    const std::string folders = empty.path() + ":" WEIR_TEST_PLUGINS;
    const Outcome outcome = run_child({"open", "misfit"}, {{"WEIR_TEST_FACTORY", how}, {"WEIR_PLUGIN_PATH", folders}});
    return outcome.output.substr(outcome.output.find("what: "));
  };
  const std::string variable = what("invalid_environment");
  CHECK(variable.find("MISFIT_DEVICES") != std::string::npos);
  CHECK_MESSAGE(variable.find("tried") == std::string::npos, variable);
  CHECK(what("no_device").find("tried") == std::string::npos);
  const std::string driver = what("driver_not_found");
  CHECK_MESSAGE(driver.find("; tried libmisfit.so.1 (") != std::string::npos, driver);
  CHECK_MESSAGE(driver.find("libweir_misfit.so") == std::string::npos, driver);
}

TEST_CASE("registry: each outcome of a factory is told apart") {
  CHECK(factory("driver_not_found", "driver_not_found", "driver_not_found").says("install the misfit driver"));
  CHECK(factory("driver_too_old", "driver_too_old", "driver_too_old").says("lacks misfitStreamCreate; install release 2"));
  CHECK(factory("no_device", "no_device", "no_device")
            .says("reason: misfitInit: the driver shows no device [MISFIT_NO_DEVICE (100): no device is here]"));
  CHECK(factory("driver_failed", "driver_failed", "driver_failed").says("[MISFIT_UNKNOWN (999): unknown error]"));
  CHECK(factory("invalid_environment", "invalid_environment", "bad_variable").says("reading MISFIT_DEVICES='x'"));
  CHECK(factory("no_devices", "no_device", "no_device").says("reports no device"));
}

TEST_CASE("registry: a misbehaving factory counts as a failed driver, and the error says whom to tell") {
  CHECK(factory("unexpected_code", "driver_failed", "driver_failed").says("a code that no factory should throw"));
  CHECK(factory("exception", "driver_failed", "driver_failed").says("threw \"the factory tripped\""));
  CHECK(factory("bad_alloc", "driver_failed", "driver_failed").says("threw \"std::bad_alloc\""));
  CHECK(factory("integer", "driver_failed", "driver_failed").says("not a std::exception"));
  CHECK(factory("null", "driver_failed", "driver_failed").says("returned no backend"));
  CHECK(factory("other_name", "plugin_incompatible", "plugin_incompatible")
            .says("'misfit', but its backend's name is 'fits'"));
  CHECK(factory("asks_for_itself", "driver_failed", "driver_failed").says("opens it again while it is being opened"));
}

TEST_CASE("registry: a factory may open another backend") {
  const Outcome outcome = run_child({"probe", "misfit", "open", "immediate"}, {{"WEIR_TEST_FACTORY", "opens_another"}});
  CHECK(outcome.says("within: immediate"));
  CHECK(outcome.says("opened: immediate"));
}

TEST_CASE("registry: a factory that asks for its own backend as the default is refused without a deadlock") {
  const Outcome outcome = run_child({"default"}, {{"WEIR_TEST_FACTORY", "asks_for_default"}, {"WEIR_BACKEND", "misfit"}});
  CHECK(outcome.says("error: driver_failed"));
  CHECK(outcome.says("opens it again while it is being opened"));
}

TEST_CASE("registry: threads that want one backend at once get one and the same") {
  const Outcome usable = run_child({"race", "immediate"});
  CHECK(usable.says("all the same: yes"));
  const Outcome broken = run_child({"race", "misfit"}, {{"WEIR_TEST_FACTORY", "dawdles"}});
  CHECK(broken.says("all the same: yes"));
  CHECK(broken.count("factory called") == 1);
}

TEST_CASE("registry: a driver that is slow to start holds up no other backend") {
  const Outcome outcome = run_child({"slow_and_quick"});
  CHECK(outcome.says("meanwhile: immediate"));
  CHECK(outcome.output.find("meanwhile: immediate") < outcome.output.find("factory goes on"));
}

TEST_CASE("registry: listing tells of every known backend and of others that were opened, and never throws") {
  const Outcome outcome =
      run_child({"open", "misfit", "open", "immediate", "open", "nosuch", "list"}, {{"WEIR_TEST_FACTORY", "exception"}});
  const std::string list = outcome.output.substr(outcome.output.find("cuda: "));
  CHECK(list.find("cuda: ") < list.find("\nhip: "));
  CHECK(list.find("\nhip: ") < list.find("\nhost: "));
  CHECK(list.find("\nhost: ") < list.find("\nimmediate: usable"));
  CHECK(list.find("\nmisfit: driver_failed") != std::string::npos);
  CHECK(list.find("\nnosuch: ") == std::string::npos);
  CHECK(outcome.count("factory called") == 1);
}

TEST_CASE("registry: a variable that does not parse is an error at every entry, until it is mended") {
  const std::vector<Environment> wrong = {
      {{"WEIR_DEVICE", "one"}},        {{"WEIR_DEVICE", "-1"}},           {{"WEIR_DEVICE", ""}},
      {{"WEIR_BACKEND", "cuda,"}},     {{"WEIR_PLUGIN_PATH", "plugins"}}, {{"WEIR_LOG", "loud"}},
      {{"WEIR_DISABLE_FEATURES", "x"}}};
  for (const Environment& environment : wrong) {
    const auto& variable = *environment.begin();
    CAPTURE(variable.first);
    const Outcome outcome =
        run_child({"open", "immediate", "probe", "host", "list", "default", "device", "immediate"}, environment);
    CHECK(outcome.count("error: invalid_environment") == 5);
    CHECK(outcome.count("reading " + variable.first + "='" + variable.second + "'") == 5);
  }
}
