// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "core/plugin_loader.hpp"
#include "subprocess.hpp"

using weir::detail::handshake_fault;
using weir::test::Outcome;
using weir::test::run_child;

namespace {

const std::string misfit = WEIR_TEST_PLUGINS "/libweir_misfit.so";
const std::string revision = std::to_string(weir::interface_revision);

// Opens the misfit with a descriptor that is wrong in one way. It must be refused before its factory is called.
Outcome refused(const char* field) {
  const Outcome outcome = run_child({"open", "misfit", "probe", "misfit"}, {{"WEIR_TEST_DESCRIPTOR", field}});
  CHECK(outcome.status == 0);
  CHECK(outcome.says("error: plugin_incompatible\n"));
  CHECK(outcome.says("misfit: plugin_incompatible\n"));
  CHECK(outcome.says("Registry::open on backend misfit: the plugin " + misfit + " cannot be used: "));
  CHECK(outcome.says("tried: " + misfit + ": "));
  CHECK(outcome.says("plugin:  \n"));  // it was not loaded
  CHECK_FALSE(outcome.says("factory called"));
  return outcome;
}

}  // namespace

TEST_CASE("handshake: a descriptor of another kind is refused before anything else of it is read") {
  const Outcome outcome = refused("magic");
  CHECK(outcome.says("begins with \"WEIRPLU?\", Weir's with \"WEIRPLUG\""));
}

TEST_CASE("handshake: a descriptor of another size names both") {
  const Outcome outcome = refused("size");
  CHECK(outcome.says("has 4096 bytes"));
  CHECK(outcome.says("'s has " + std::to_string(sizeof(weir_plugin_descriptor))));
}

TEST_CASE("handshake: another interface revision names both") {
  const Outcome outcome = refused("revision");
  CHECK(outcome.says("interface revision " + std::to_string(weir::interface_revision + 1)));
  CHECK(outcome.says("has revision " + revision));
}

TEST_CASE("handshake: another ABI names both") {
  CHECK(refused("fingerprint").says("built as msvc/stl, this Weir as " WEIR_ABI_FINGERPRINT));
  CHECK(refused("no_fingerprint").says("built as (none), this Weir as " WEIR_ABI_FINGERPRINT));
}

TEST_CASE("handshake: another name than the file's names both") {
  CHECK(refused("name").says("calls itself 'fits', its file 'misfit'"));
  CHECK(refused("no_name").says("calls itself '(none)', its file 'misfit'"));
}

TEST_CASE("handshake: a descriptor that is not filled in") {
  CHECK(refused("none").says("returned no descriptor"));
  CHECK(refused("no_version").says("has no version"));
  CHECK(refused("no_factory").says("has no factory"));
}

TEST_CASE("handshake: files that are no plugins") {
  const auto open = [](const std::string& name) {
    const Outcome outcome = run_child({"open", name, "probe", name});
    CHECK(outcome.says("error: plugin_incompatible\n"));
    CHECK(outcome.says(WEIR_TEST_PLUGINS "/libweir_" + name + ".so"));
    return outcome;
  };
  CHECK(open("mute").says("exports no function weir_plugin"));
  CHECK(open("text").says("invalid ELF header"));
  CHECK(open("unresolved").says("weir_test_function_that_nothing_has"));
}

TEST_CASE("handshake: the library's own descriptor fits") {
  static const weir_plugin_descriptor fitting = {{'W', 'E', 'I', 'R', 'P', 'L', 'U', 'G'},
                                                 sizeof(weir_plugin_descriptor),
                                                 weir::interface_revision,
                                                 WEIR_ABI_FINGERPRINT,
                                                 "fits",
                                                 "1",
                                                 [](weir::PluginContext&) -> weir::Backend* { return nullptr; }};
  CHECK(handshake_fault(&fitting, "fits") == "");
  CHECK(handshake_fault(&fitting, "fit") != "");
  CHECK(handshake_fault(&fitting, "") != "");
}

TEST_CASE("handshake: the descriptor's layout is what other revisions read of it") {
  // A plugin of any revision, past or future, must be readable as far as the field that refuses it.
  CHECK(offsetof(weir_plugin_descriptor, magic) == 0);
  CHECK(offsetof(weir_plugin_descriptor, size) == 8);
  CHECK(offsetof(weir_plugin_descriptor, interface_revision) == 12);
  CHECK(offsetof(weir_plugin_descriptor, abi_fingerprint) == 16);
}
