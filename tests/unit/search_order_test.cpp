// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "core/plugins/plugin_loader.hpp"
#include "subprocess.hpp"
#include "weir/error.hpp"

// Tests the order in which folders are searched for plugins.

using weir::detail::find_plugin;
using weir::detail::plugin_folders;
using weir::test::run;
using weir::test::run_child;
using weir::test::TemporaryFolder;

namespace {

using Folders = std::vector<std::string>;
const std::string immediate = WEIR_TEST_PLUGINS "/libweir_immediate.so";

// What is compiled into the tests takes the tests' own folder for the library's.
std::string own_folder() { return std::filesystem::canonical("/proc/self/exe").parent_path().string(); }

std::string real(const std::string& path) { return std::filesystem::canonical(path).string(); }

}  // namespace

TEST_CASE("search order: the user's folders and the library's, and those of no other installation") {
  const std::string own = own_folder();
  CHECK(plugin_folders(std::nullopt) == Folders{own, own + "/" WEIR_PLUGIN_FOLDER});
  CHECK(plugin_folders("/b:/a") == Folders{"/b", "/a", own, own + "/" WEIR_PLUGIN_FOLDER});
}

TEST_CASE("search order: no folder twice, and its first place counts") {
  const std::string own = own_folder();
  CHECK(plugin_folders("/a:/a/:/b:/a//:" + own) == Folders{"/a", "/b", own, own + "/" WEIR_PLUGIN_FOLDER});
  CHECK(plugin_folders("/") == Folders{"/", own, own + "/" WEIR_PLUGIN_FOLDER});
}

TEST_CASE("search order: the current folder is never searched") {
  for (const std::string value : {"", ".", "a", "./a", "../a", ":", "/a:", ":/a", "/a::/b", "/a:b", "~/a"}) {
    CAPTURE(value);
    std::string what;
    try {
      plugin_folders(value);
    } catch (const weir::Error& error) {
      CHECK(error.errc() == weir::Errc::invalid_environment);
      what = error.what();
    }
    CHECK(what.find("WEIR_PLUGIN_PATH='" + std::string(value) + "'") != std::string::npos);
    CHECK(what.find("absolute") != std::string::npos);
  }
}

TEST_CASE("search order: the first file of that name is taken, and what came before is told") {
  const TemporaryFolder temporary;
  const std::string empty = temporary.folder("empty"), first = temporary.folder("first"),
                    second = temporary.folder("second");
  temporary.copy(immediate, "first/libweir_immediate.so");
  temporary.copy(immediate, "second/libweir_immediate.so");
  const Folders folders = {temporary.path() + "/none", empty, first, second};

  std::vector<weir::LoadAttempt> attempts;
  CHECK(find_plugin("immediate", folders, attempts) == first + "/libweir_immediate.so");
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].path == temporary.path() + "/none/libweir_immediate.so");
  CHECK(attempts[0].outcome == "no such folder");
  CHECK(attempts[1].path == empty + "/libweir_immediate.so");
  CHECK(attempts[1].outcome == "No such file or directory");

  attempts.clear();
  CHECK(find_plugin("other", folders, attempts) == "");
  CHECK(attempts.size() == 4);
}

TEST_CASE("search order: WEIR_PLUGIN_PATH's order decides which plugin is loaded") {
  const TemporaryFolder temporary;
  const std::string a = temporary.folder("a"), b = temporary.folder("b");
  temporary.copy(immediate, "b/libweir_immediate.so");
  const auto probe = [&](const std::string& path) {
    return run_child({"probe", "immediate"}, {{"WEIR_PLUGIN_PATH", path}});
  };
  auto outcome = probe(a + ":" + b + ":" WEIR_TEST_PLUGINS);
  CHECK(outcome.says("immediate: usable"));
  CHECK(outcome.says("plugin: " + b + "/libweir_immediate.so 1.0"));
  CHECK(outcome.says("tried: " + a + "/libweir_immediate.so: No such file"));
  outcome = probe(WEIR_TEST_PLUGINS ":" + b);
  CHECK(outcome.says("plugin: " WEIR_TEST_PLUGINS "/libweir_immediate.so 1.0"));
}

TEST_CASE("search order: a file that is no plugin hides the one behind it, and says so") {
  // Going on to the next folder would run something else than the user put first.
  const TemporaryFolder temporary;
  const std::string a = temporary.folder("a");
  temporary.copy(WEIR_TEST_PLUGINS "/libweir_text.so", "a/libweir_immediate.so");
  const auto outcome = run_child({"open", "immediate"}, {{"WEIR_PLUGIN_PATH", a + ":" WEIR_TEST_PLUGINS}});
  CHECK(outcome.says("error: plugin_incompatible"));
  CHECK(outcome.says(a + "/libweir_immediate.so"));
}

TEST_CASE("search order: neither the current folder nor the loader's own path is searched") {
  const TemporaryFolder temporary;
  temporary.copy(immediate, "libweir_immediate.so");
  const std::string empty = temporary.folder("empty");
  const auto outcome = run_child({"change_folder", temporary.path(), "open", "immediate"},
                                 {{"WEIR_PLUGIN_PATH", empty}, {"LD_LIBRARY_PATH", temporary.path()}});
  CHECK(outcome.says("error: backend_unknown"));
  CHECK_FALSE(outcome.says(temporary.path() + "/libweir_immediate.so"));
}

TEST_CASE("search order: the folder of the library, and the plugin folder in it, wherever the library lies") {
  const TemporaryFolder temporary;
  const std::string lib = temporary.folder("lib");
  temporary.folder("lib/" WEIR_PLUGIN_FOLDER);
  const std::string library = temporary.copy(WEIR_TEST_LIBRARY, "lib/libweir.so");
  // Loaded before the program's own library of the same name, which it thereby replaces.
  const weir::test::Environment environment = {{"LD_PRELOAD", library}, {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  const auto probe = [&] { return run(WEIR_TEST_CHILD, {"library", "probe", "immediate"}, environment); };

  auto outcome = probe();
  CHECK(outcome.says("library: " + library));
  CHECK(outcome.says("immediate: plugin_not_found"));
  temporary.copy(immediate, "lib/" WEIR_PLUGIN_FOLDER "/libweir_immediate.so");
  CHECK(probe().says("plugin: " + real(lib) + "/" WEIR_PLUGIN_FOLDER "/libweir_immediate.so"));
  temporary.copy(immediate, "lib/libweir_immediate.so");
  CHECK(probe().says("plugin: " + real(lib) + "/libweir_immediate.so"));
}

TEST_CASE("search order: a library that was found by a relative path is still searched where it lies") {
  const TemporaryFolder temporary;
  const std::string lib = temporary.folder("lib");
  temporary.copy(WEIR_TEST_LIBRARY, "lib/libweir.so");
  temporary.copy(immediate, "lib/libweir_immediate.so");
  const std::string relative = std::filesystem::relative(lib).string() + "/libweir.so";
  const auto outcome = run(WEIR_TEST_CHILD, {"library", "change_folder", "/", "probe", "immediate"},
                           {{"LD_PRELOAD", relative}, {"ASAN_OPTIONS", "verify_asan_link_order=0"}});
  CHECK(outcome.says("library: " + relative));
  CHECK(outcome.says("plugin: " + real(lib) + "/libweir_immediate.so"));
}

TEST_CASE("search order: for a tool that is not there, Weir's own and the option that builds them are told") {
  CHECK_THROWS_WITH_AS(weir::detail::open_tool("timelin", Folders{"/nosuch"}),
                       doctest::Contains("Weir's own tools are race, timeline"), weir::Error);
  CHECK_THROWS_WITH_AS(weir::detail::open_tool("race", Folders{"/nosuch"}),
                       doctest::Contains("; tried /nosuch/libweir_tool_race.so"), weir::Error);
}
