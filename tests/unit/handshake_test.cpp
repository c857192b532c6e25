// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/plugins/plugin_loader.hpp"
#include "subprocess.hpp"
#include "weir/plugin/abi.hpp"
#include "weir/version.hpp"

// Tests the note in a plugin's file, by which the library checks the plugin before it loads it.

using namespace std::string_literals;
using weir::detail::handshake_fault;
using weir::detail::PluginNote;
using weir::detail::read_plugin_note;
using weir::test::Outcome;
using weir::test::run_child;
using weir::test::TemporaryFolder;

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A plugin's file, with its note to be changed: the note's header, "Weir", the revision and the texts follow each other.
class Image {
 public:
  explicit Image(const std::string& name, const std::string& version) : name_(name) {
    bytes = content(WEIR_TEST_PLUGINS "/libweir_" + name + ".so");
    text = bytes.find(name + '\0' + version + "\0sanitizer="s);
    REQUIRE(text != std::string::npos);
  }

  std::size_t revision() const { return text - 4; }
  std::size_t owner() const { return text - 12; }
  std::size_t type() const { return text - 16; }
  void set(std::size_t at, std::uint32_t value) { std::memcpy(bytes.data() + at, &value, sizeof(value)); }
  // Changes the text that follows `key` in the note.
  void change_after(std::string_view key) {
    const std::size_t at = bytes.find(key, text);
    REQUIRE(at != std::string::npos);
    bytes[at + key.size()] = bytes[at + key.size()] == '9' ? '8' : '9';
  }

  // Writes the image as the plugin of its name, and opens it: it must be refused, and none of its code must have run.
  Outcome refused() const {
    const TemporaryFolder temporary;
    const std::string file = temporary.path() + "/libweir_" + name_ + ".so";
    std::ofstream(file, std::ios::binary) << bytes;
    const Outcome outcome = run_child({"open", name_, "probe", name_}, {{"WEIR_PLUGIN_PATH", temporary.path()}});
    CHECK(outcome.status == 0);
    CHECK(outcome.says("error: plugin_incompatible\n"));
    CHECK(outcome.says(name_ + ": plugin_incompatible\n"));
    CHECK(outcome.says("Registry::open on backend " + name_ + ": the plugin " + file + " cannot be used: "));
    CHECK(outcome.says("tried: " + file + ": "));
    CHECK(outcome.says("plugin:  \n"));  // it was not loaded
    CHECK_FALSE(outcome.says("a constructor ran"));
    CHECK_FALSE(outcome.says("factory called"));
    CHECK_FALSE(outcome.says("undefined symbol"));
    return outcome;
  }

  std::string bytes;
  std::size_t text;

 private:
  std::string name_;
};

Image misfit() { return Image("misfit", "2.0-test"); }

}  // namespace

TEST_CASE("handshake: a plugin that fits says so in its note") {
  const PluginNote note = read_plugin_note(WEIR_TEST_PLUGINS "/libweir_misfit.so");
  CHECK(note.revision == weir::plugin_revision);
  CHECK(note.name == "misfit");
  CHECK(note.version == "2.0-test");
  CHECK(note.build.ends_with(" "s + weir::detail::plugin_fingerprint.data()));
  CHECK(handshake_fault(note, "misfit") == "");
  CHECK(handshake_fault(note, "misfi") != "");
  CHECK(handshake_fault(note, "") != "");
}

TEST_CASE("handshake: the note outlives link-time optimization, removal of unused sections, and strip") {
  // The plugin `immediate` is built so.
  CHECK(read_plugin_note(WEIR_TEST_PLUGINS "/libweir_immediate.so").version == "1.0");
}

TEST_CASE("handshake: another interface revision names both, and no code of the plugin runs") {
  Image image = misfit();
  image.set(image.revision(), weir::plugin_revision + 1);
  const Outcome outcome = image.refused();
  CHECK(outcome.says("built for plugin revision " + std::to_string(weir::plugin_revision + 1)));
  CHECK(outcome.says("has revision " + std::to_string(weir::plugin_revision) + ";"));
}

TEST_CASE("handshake: another interface revision comes before the symbols that the plugin lacks") {
  Image image("unresolved", "1.0");
  image.set(image.revision(), 5);
  CHECK(image.refused().says("built for plugin revision 5"));
  const Outcome outcome = run_child({"open", "unresolved"});
  CHECK(outcome.says("error: plugin_incompatible"));
  CHECK(outcome.says("weir_test_function_that_nothing_has"));
}

TEST_CASE("handshake: another layout, C++ library or sanitizer is refused, and the error has both sides") {
  Image image = misfit();
  SUBCASE("layout") { image.change_after(" layout="); }
  SUBCASE("library") { image.change_after("library=lib"); }
  SUBCASE("sanitizer") { image.change_after("sanitizer="); }
  const Outcome outcome = image.refused();
  CHECK(outcome.says("it was built with 'sanitizer="));
  CHECK(outcome.says("', but this Weir with 'sanitizer=" WEIR_ABI_SANITIZER " "s + weir::detail::plugin_fingerprint.data()));
}

TEST_CASE("handshake: a plugin that was built with _GLIBCXX_DEBUG is refused") {
  const Outcome outcome = run_child({"open", "debug_containers"});
  CHECK(outcome.says("error: plugin_incompatible"));
  CHECK(outcome.count(" debug-containers=1 layout=") == 1);
  CHECK(outcome.count(" debug-containers=0 layout=") == 1);
  CHECK_FALSE(outcome.says("a constructor ran"));
}

TEST_CASE("handshake: another name than the file's names both") {
  Image image = misfit();
  image.bytes.replace(image.text, 6, "fitfit");
  CHECK(image.refused().says("has the name 'fitfit', but its file the name 'misfit'"));
}

TEST_CASE("handshake: a note that is not filled in") {
  for (const std::size_t gone : {0, 7, 16}) {  // the name, the version, the build
    CAPTURE(gone);
    Image image = misfit();
    image.bytes[image.text + gone] = '\0';
    CHECK(image.refused().says("its note lacks the name, the version or the build"));
  }
}

TEST_CASE("handshake: a shared object without the note is not a plugin") {
  Image image = misfit();
  SUBCASE("another owner") { image.bytes[image.owner()] = 'w'; }
  SUBCASE("another type") { image.set(image.type(), 2); }
  CHECK(image.refused().says("it is not a Weir plugin: it has no ELF note named \"Weir\""));
}

TEST_CASE("handshake: files that are no plugins") {
  const auto open = [](const std::string& name) {
    const Outcome outcome = run_child({"open", name, "probe", name});
    CHECK(outcome.says("error: plugin_incompatible\n"));
    CHECK(outcome.says(WEIR_TEST_PLUGINS "/libweir_" + name + ".so"));
    CHECK_FALSE(outcome.says("a constructor ran"));
    return outcome;
  };
  CHECK(open("mute").says("it is not a Weir plugin"));
  CHECK(open("text").says("it is not a Weir plugin"));
  CHECK(open("note_only").says("does not export weir_create_backend"));
}

TEST_CASE("handshake: what has a plugin's name and is no file is refused, and nothing waits for it") {
  const TemporaryFolder temporary;
  const std::string path = temporary.path() + "/libweir_misfit.so";
  SUBCASE("a folder") { std::filesystem::create_directory(path); }
  SUBCASE("a pipe") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  const Outcome outcome = run_child({"open", "misfit"}, {{"WEIR_PLUGIN_PATH", temporary.path()}});
  CHECK(outcome.says("error: plugin_incompatible\n"));
  CHECK(outcome.says("it is not a regular file"));
}
