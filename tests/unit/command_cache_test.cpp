// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "command.hpp"
#include "subprocess.hpp"

// Tests `weir cache`, on folders with cache entries, similar files, and other files.

namespace fs = std::filesystem;
using weir::test::Outcome;
using weir::test::TemporaryFolder;

namespace {

const std::string name = "0123456789abcdef0123456789abcdef.module";

class CacheFolder {
 public:
  CacheFolder() { fs::create_directories(fs::path(path("host"))); }
  std::string path(const std::string& file) const { return folder_.path() + "/" + file; }
  // As the cache writes one, as far as it is looked at, 1 KiB long.
  void write(const std::string& file, const std::string& begin = "WEIRKERN") {
    std::ofstream(path(file)) << begin << std::string(1024 - begin.size(), 'x');
  }
  bool has(const std::string& file) const { return fs::exists(fs::symlink_status(path(file))); }
  Outcome cache(std::vector<std::string> words) const {
    words.insert(words.begin(), "cache");
    return weir::test::weir_command(words, {{"WEIR_CACHE_DIR", folder_.path()}});
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("cache: the entries and their size, by backend") {
  CacheFolder folder;
  fs::create_directory(folder.path("cuda"));
  folder.write("cuda/" + name);
  folder.write("host/" + name);
  folder.write("host/f" + name.substr(1));
  const Outcome size = folder.cache({"size"});
  CHECK(size.status == 0);
  CHECK(size.says("cuda    1 KiB of at most 256 MiB, 1 entry\n"));
  CHECK(size.says("host    2 KiB of at most 256 MiB, 2 entries\n"));
  CHECK(size.says("hip     0 B of at most 256 MiB, 0 entries\n"));
}

TEST_CASE("cache: clear removes entries and no other file, and tells what was freed") {
  CacheFolder folder;
  folder.write("host/" + name);
  folder.write("host/notes.module");
  folder.write("host/a" + name.substr(1), "no entry");
  folder.write("elsewhere");
  fs::create_symlink(folder.path("elsewhere"), folder.path("host/b" + name.substr(1)));
  fs::create_directory(folder.path("host/c" + name.substr(1)));
  ::mkfifo(folder.path("host/d" + name.substr(1)).c_str(), 0600);
  folder.write(name);
  const Outcome cleared = folder.cache({"clear"});
  CHECK(cleared.status == 0);
  CHECK(cleared.output == "removed 1 entry, freed 1 KiB\n");
  CHECK_FALSE(folder.has("host/" + name));
  CHECK(folder.has("host/notes.module"));
  for (const char* const first : {"a", "b", "c", "d"}) CHECK_MESSAGE(folder.has("host/" + (first + name.substr(1))), first);
  CHECK(folder.has("elsewhere"));
  CHECK(folder.has(name));
  CHECK(folder.cache({"clear"}).says("removed 0 entries, freed 0 B\n"));
}

TEST_CASE("cache: a folder that is a link is not followed, and a bad variable is told") {
  CacheFolder folder, other;
  other.write("host/" + name);
  fs::remove(folder.path("host"));
  fs::create_directory_symlink(other.path("host"), folder.path("host"));
  CHECK(folder.cache({"clear"}).says("removed 0 entries"));
  CHECK(other.has("host/" + name));
  CHECK(weir::test::weir_command({"cache", "size"}, {{"WEIR_CACHE_DIR", "relative"}}).status == 2);
  CHECK(folder.cache({}).complains("a command is missing; the commands are size, clear"));
}
