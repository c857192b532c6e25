// SPDX-License-Identifier: Apache-2.0
#include "backends/cache/kernel_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

// Tests the cache of compiled kernels.

namespace weir::cache {
namespace {

using detail::TemporaryFolder;

namespace fs = std::filesystem;

Bytes image_of(std::string_view text) {
  Bytes image(text.size());
  std::memcpy(image.data(), text.data(), text.size());
  return image;
}

CacheKey key_of(std::string_view text) { return CacheKeyBuilder().add(text).key(); }

fs::path entry(const detail::TemporaryFolder& folder, const CacheKey& key) {
  return folder.path() + "/host/" + key.hex() + ".module";
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// What a block says on standard error.
template <class F>
std::string log_of(F&& f) {
  const detail::TemporaryFolder folder;
  const std::string file = folder.path() + "/log";
  std::fflush(stderr);
  const FileDescriptor before(::dup(2));
  REQUIRE(::freopen(file.c_str(), "w", stderr) != nullptr);
  f();
  std::fflush(stderr);
  ::dup2(before.number(), 2);
  std::ifstream log(file);
  return {std::istreambuf_iterator<char>(log), {}};
}

TEST_CASE("keys depend on every part and on where parts end") {
  CHECK(key_of("a") == key_of("a"));
  CHECK(key_of("a") != key_of("b"));
  CHECK(CacheKeyBuilder().add("ab").add("c").key() != CacheKeyBuilder().add("a").add("bc").key());
  CHECK(CacheKeyBuilder().add("").key() != CacheKeyBuilder().key());
  CHECK(key_of("a").hex().size() == 32);
}

TEST_CASE("a home that is not there is not made") {
  struct Variable {
    const char* name;
    std::string before = std::getenv(name) != nullptr ? std::getenv(name) : "";
    ~Variable() { before.empty() ? ::unsetenv(name) : ::setenv(name, before.c_str(), 1); }
  };
  const Variable variables[] = {{"HOME"}, {"XDG_CACHE_HOME"}, {"WEIR_CACHE_DIR"}};
  for (const Variable& v : variables) ::unsetenv(v.name);
  const detail::TemporaryFolder folder;
  const std::string home = folder.path() + "/home";
  ::setenv("HOME", home.c_str(), 1);
  CHECK_FALSE(default_cache_folder().has_value());
  const std::string said = log_of([] {
    KernelCache cache(default_cache_folder(), "host");
    cache.store(key_of("k"), image_of("code"));
    CHECK(cache.find(key_of("k")) == image_of("code"));
  });
  CHECK_FALSE(fs::exists(home));
  CHECK(said.find("nor HOME is a folder of this user") != std::string::npos);
  fs::create_directory(home);
  CHECK(default_cache_folder() == home + "/.cache/weir");
  ::setenv("XDG_CACHE_HOME", (folder.path() + "/cache").c_str(), 1);  // its specification has it made where it is not there
  CHECK(default_cache_folder() == folder.path() + "/cache/weir");
}

TEST_CASE("a home of another user's gets no cache") {
  if (::geteuid() != 0) return;  // only root can make one
  const detail::TemporaryFolder folder;
  const std::string home = folder.path() + "/home";
  fs::create_directory(home);
  const test::Variable without("WEIR_CACHE_DIR", nullptr),
      variables[] = {{"HOME", home.c_str()}, {"XDG_CACHE_HOME", nullptr}};
  CHECK(default_cache_folder());
  REQUIRE(::chown(home.c_str(), 1, 1) == 0);
  CHECK_FALSE(default_cache_folder());
  const test::Variable xdg("XDG_CACHE_HOME", home.c_str());
  CHECK_FALSE(default_cache_folder());
}

TEST_CASE("folders that are made are the user's alone, whatever the umask") {
  const detail::TemporaryFolder folder;
  const ::mode_t before = ::umask(0);
  KernelCache(folder.path() + "/a/b", "host").store(key_of("k"), image_of("image"));
  ::umask(before);
  for (const char* name : {"/a", "/a/b", "/a/b/host"})
    CHECK(fs::status(folder.path() + name).permissions() == fs::perms::owner_all);
}

TEST_CASE("an entry that is a FIFO is not waited for, and is replaced") {
  const detail::TemporaryFolder folder;
  KernelCache cache(folder.path(), "host");
  const CacheKey key = key_of("k");
  REQUIRE(::mkfifo(entry(folder, key).c_str(), 0600) == 0);
  ::alarm(20);  // where it waits
  CHECK_FALSE(cache.find(key));
  ::alarm(0);
  cache.store(key, image_of("image"));
  CHECK(cache.find(key) == image_of("image"));
}

TEST_CASE("what is stored is found, by this cache and by the next") {
  const detail::TemporaryFolder folder;
  const CacheKey key = key_of("k");
  {
    KernelCache cache(folder.path(), "host");
    CHECK_FALSE(cache.find(key));
    cache.store(key, image_of("image"));
    CHECK(cache.find(key) == image_of("image"));
  }
  CHECK(KernelCache(folder.path(), "host").find(key) == image_of("image"));
  CHECK_FALSE(KernelCache(folder.path(), "host").find(key_of("other")));
  struct stat status {};
  REQUIRE(::stat((folder.path() + "/host").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(::stat(entry(folder, key).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a damaged entry is dropped, told of, and never given out") {
  const detail::TemporaryFolder folder;
  KernelCache cache(folder.path(), "host");
  const CacheKey key = key_of("k");
  const fs::path file = entry(folder, key);
  const auto damaged = [&](auto&& damage) {
    cache.store(key, image_of("an image of some length"));
    damage();
    std::optional<Bytes> found;
    const std::string log = log_of([&] { found = cache.find(key); });
    CHECK_FALSE(found);
    CHECK(test::has(log, key.hex()));
    CHECK_FALSE(fs::exists(file));
    cache.store(key, image_of("again"));
    CHECK(cache.find(key) == image_of("again"));
  };
  const auto overwrite = [&](std::streamoff at, char byte) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    stream.put(byte);
  };
  SUBCASE("cut short") { damaged([&] { fs::resize_file(file, fs::file_size(file) - 1); }); }
  SUBCASE("longer") { damaged([&] { fs::resize_file(file, fs::file_size(file) + 1); }); }
  SUBCASE("longer than memory") {
    damaged([&] { fs::resize_file(file, std::uintmax_t{1} << 40U); });
  }
  SUBCASE("empty") { damaged([&] { fs::resize_file(file, 0); }); }
  SUBCASE("a piece of the header") { damaged([&] { fs::resize_file(file, 20); }); }
  SUBCASE("one byte of the image") { damaged([&] { overwrite(60, '\x7f'); }); }
  SUBCASE("the magic") { damaged([&] { overwrite(0, 'X'); }); }
  SUBCASE("the length, saying more than memory holds") { damaged([&] { overwrite(23, '\x7f'); }); }
  SUBCASE("another key's entry under this name") {
    damaged([&] {
      cache.store(key_of("other"), image_of("other"));
      fs::rename(entry(folder, key_of("other")), file);
    });
  }
}

TEST_CASE("an entry that is a link or a folder is not followed") {
  const detail::TemporaryFolder folder;
  KernelCache cache(folder.path(), "host");
  cache.store(key_of("other"), image_of("other"));
  fs::create_symlink(entry(folder, key_of("other")), entry(folder, key_of("k")));
  CHECK_FALSE(cache.find(key_of("k")));
  fs::create_directory(entry(folder, key_of("d")));
  CHECK_FALSE(cache.find(key_of("d")));
}

TEST_CASE("a folder that others may use is not used, and a warning says so once") {
  const detail::TemporaryFolder folder;
  const std::string own = folder.path() + "/host";
  fs::create_directory(own);
  fs::permissions(own, fs::perms::owner_all | fs::perms::others_write);
  const std::string log = log_of([&] {
    KernelCache cache(folder.path(), "host");
    cache.store(key_of("k"), image_of("image"));
    CHECK(cache.find(key_of("k")) == image_of("image"));  // from memory
    cache.store(key_of("l"), image_of("image"));
  });
  CHECK(test::has(log, own));
  CHECK(test::has(log, "WEIR_CACHE_DIR"));
  CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  CHECK(files_in(own) == 0);
}

TEST_CASE("a link in the folder's place is not used") {
  const detail::TemporaryFolder folder;
  fs::create_directory(folder.path() + "/elsewhere");
  fs::create_directory_symlink(folder.path() + "/elsewhere", folder.path() + "/host");
  CHECK(test::has(log_of([&] { KernelCache(folder.path(), "host").store(key_of("k"), image_of("image")); }), "/host"));
  CHECK(files_in(folder.path() + "/elsewhere") == 0);
}

TEST_CASE("without a usable folder entries are kept in memory") {
  const detail::TemporaryFolder folder;
  { std::ofstream file(folder.path() + "/file"); }
  for (const auto& place : {std::optional<std::string>(), std::optional<std::string>(folder.path() + "/file"),
                            std::optional<std::string>("/proc/weir")}) {
    std::optional<Bytes> found;
    const std::string log = log_of([&] {
      KernelCache cache(place, "host");
      cache.store(key_of("k"), image_of("image"));
      cache.store(key_of("l"), image_of("image"));
      found = cache.find(key_of("k"));
    });
    CHECK(found == image_of("image"));
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
}

TEST_CASE("a folder that is gone while the cache is open does no harm") {
  const detail::TemporaryFolder folder;
  KernelCache cache(folder.path(), "host");
  fs::remove_all(folder.path() + "/host");
  std::optional<Bytes> found;
  const std::string log = log_of([&] {
    cache.store(key_of("k"), image_of("image"));
    found = cache.find(key_of("k"));
  });
  CHECK(found == image_of("image"));
  CHECK(test::has(log, "writing to"));
}

TEST_CASE("what was not used for longest goes first, and abandoned files with it") {
  const detail::TemporaryFolder folder;
  KernelCache cache(folder.path(), "host", 4000);
  const Bytes image(900);
  const auto age = [&](const fs::path& file, int hours) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char* name : {"a", "b", "c"}) cache.store(key_of(name), image);
  age(entry(folder, key_of("a")), 30);
  age(entry(folder, key_of("b")), 20);
  age(entry(folder, key_of("c")), 10);
  const fs::path abandoned = folder.path() + "/host/new-1-1", recent = folder.path() + "/host/new-1-2";
  for (const fs::path& file : {abandoned, recent}) std::ofstream(file) << "unfinished";
  age(abandoned, 2);
  CHECK(cache.find(key_of("a")));  // used just now
  cache.store(key_of("d"), image);
  cache.store(key_of("e"), image);  // over 4000 bytes: down to 3000
  CHECK_FALSE(cache.find(key_of("b")));
  CHECK_FALSE(cache.find(key_of("c")));
  for (const char* name : {"a", "d", "e"}) CHECK(cache.find(key_of(name)));
  CHECK_FALSE(fs::exists(abandoned));
  CHECK(fs::exists(recent));
}

TEST_CASE("many threads share a folder") {
  const detail::TemporaryFolder folder;
  KernelCache one(folder.path(), "host"), two(folder.path(), "host");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      KernelCache& cache = t % 2 == 0 ? one : two;
      for (int i = 0; i < 100; ++i) {
        const std::string text = std::to_string(i % 10);
        cache.store(key_of(text), image_of("image " + text));
        if (cache.find(key_of(text)) != image_of("image " + text)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(files_in(folder.path() + "/host") == 10);
}

}  // namespace
}  // namespace weir::cache
