// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/subprocess.hpp"
#include "tools/record/format.hpp"
#include "tools/weir/recording.hpp"
#include "weir/error.hpp"

// What `weir record` writes, `weir replay` does again, with the same results. On the default device of WEIR_TEST_BACKEND, or
// on the host.

namespace {

using weir::detail::BundleHeader;
using weir::detail::BundleRecord;
using weir::test::Environment;
using weir::test::Outcome;
using weir::test::TemporaryFolder;
using Bytes = std::vector<std::byte>;

std::string backend() {
  const char* const name = std::getenv("WEIR_TEST_BACKEND");
  return name != nullptr ? name : "host";
}

Outcome record(const std::string& file, const std::string& program, std::vector<std::string> options = {}) {
  options.insert(options.begin(), {"record", "--backend", backend(), "-o", file});
  options.insert(options.end(), {"--", WEIR_TEST_PROGRAMS, program});
  return weir::test::run(WEIR_TEST_WEIR, options, {{"WEIR_HOST_DEVICES", "2"}});
}

Outcome replay(const std::string& file, const Environment& environment = {}) {
  return weir::test::run(WEIR_TEST_WEIR, {"replay", "--backend=host", file}, environment);
}

/// Records and replays a program that works, and returns what the replay says.
std::string replayed(const std::string& program) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  const Outcome recorded = record(file, program);
  CAPTURE(recorded.errors);
  CHECK(recorded.status == 0);
  CHECK_FALSE(recorded.complains("missing"));
  CHECK_FALSE(recorded.complains("the recording ends"));
  const Outcome outcome = replay(file);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(outcome.errors.empty());
  return outcome.output;
}

Bytes read_file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

void write_file(const std::string& name, const Bytes& bytes) {
  std::ofstream(name, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
  ::chmod(name.c_str(), 0600);
}

/// Calls `function(header, records)` for each segment, and writes its check number anew.
template <class F>
void for_each_segment(Bytes& bytes, F&& function) {
  for (std::size_t at = 0; at + sizeof(BundleHeader) <= bytes.size();) {
    BundleHeader header{};
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.size < sizeof(header) || header.size > bytes.size() - at) return;
    const auto records = std::span(bytes).subspan(at + sizeof(header), header.size - sizeof(header));
    function(records);
    header.check = weir::detail::check_number(records);
    std::memcpy(bytes.data() + at, &header, sizeof(header));
    at += header.size;
  }
}

/// The data of each record of that kind.
template <class F>
void for_each_record(std::span<std::byte> records, std::string_view kind, F&& function) {
  const auto padded = [](std::uint64_t size) { return (size + 15) / 16 * 16; };
  for (std::size_t at = 0; at < records.size();) {
    BundleRecord head{};
    std::memcpy(&head, records.data() + at, sizeof(head));
    const std::size_t data = at + sizeof(head) + padded(head.name_size);
    if (std::string_view(head.kind, 4) == kind) function(records.subspan(data, head.data_size));
    at = data + padded(head.data_size);
  }
}

std::string refusal_of(const Bytes& bytes) {
  try {
    (void)weir::tool::Recording(bytes);
  } catch (const weir::Error& error) {
    CHECK(error.errc() == weir::Errc::invalid_image);
    return error.what();
  }
  return "";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("record: kernels, copies, host functions and memory of all kinds replay with the same results") {
  CHECK(has(replayed("recorded_work"), " operations on 2 streams; 9 of 9 results have the bytes of the recording\n"));
}

TEST_CASE("record: captures, updates, child graphs and launches with new inputs replay with the same results") {
  CHECK(has(replayed("recorded_graphs"), "5 of 5 results have the bytes of the recording"));
}

TEST_CASE("record: conditional nodes, nested ones too, replay with the same results") {
  CHECK(has(replayed("recorded_conditional"), "2 of 2 results have the bytes of the recording"));
}

TEST_CASE("record: values that streams and the host write end the waits of a replay, too") {
  CHECK(has(replayed("recorded_waits"), "1 of 1 results have the bytes of the recording"));
}

TEST_CASE("record: unchanged contents are in the file once, and it is this user's alone") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_work").status == 0);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  CHECK(status.st_size < 300000);  // of 20 KB each there are 3 inputs, 3 corrections, and what repeats
  ::chmod(file.c_str(), 0666);
  const Outcome outcome = replay(file);
  CHECK(outcome.status == 2);
  CHECK(outcome.complains("can be changed by others"));
}

TEST_CASE("replay: tools see the operations of the recording, under their numbers") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_race").status == 0);
  const Outcome race = replay(file, {{"WEIR_TOOLS", "race"}});
  CAPTURE(race.errors);
  CHECK(race.status == 66);
  CHECK(race.complains("operation 4: kernel 'scale' " + file + ":4"));
  CHECK(record(file, "recorded_graphs").status == 0);
  for (const char* tools : {"race,validate", "timeline"}) {
    const Outcome silent = replay(file, {{"WEIR_TOOLS", tools}, {"WEIR_TIMELINE", folder.path() + "/trace"}});
    CAPTURE(silent.errors);
    CHECK(silent.status == 0);
  }
  for (const char* seed : {"1", "2", "pct:3"}) CHECK(replay(file, {{"WEIR_SCHEDULE", seed}}).status == 0);
}

TEST_CASE("replay: with another input it tells which result differs, and where") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_exit").status == 3);
  Bytes bytes = read_file(file);
  int pieces = 0;
  for_each_segment(bytes, [&](std::span<std::byte> records) {
    for_each_record(records, "piec", [&](std::span<std::byte> piece) {
      if (++pieces == 3) piece[40] ^= std::byte{1};
    });
  });
  CHECK(pieces > 4);
  write_file(file, bytes);
  const Outcome outcome = replay(file);
  CAPTURE(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.says("0 of 1 results have the bytes of the recording"));
  CHECK(outcome.says("Stream::copy on stream 1: "));
  CHECK(outcome.says(" of 20000\n"));
}

TEST_CASE("record: a program that ends by _exit, or aborts, leaves a recording of what it did") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_exit").status == 3);
  CHECK(replay(file).says("1 of 1 results have the bytes of the recording"));
  CHECK(record(file, "recorded_abort").status == 134);
  const Outcome outcome = replay(file);
  CHECK(outcome.status == 0);
  CHECK(outcome.says("1 of 1 results have the bytes of the recording"));
  CHECK(outcome.complains("the recording ends: what Stream::copy reads was not saved"));
}

TEST_CASE("record: what cannot be recorded is told with its remedy, and the program goes on") {
  const struct {
    const char *program, *cause;
  } cases[] = {
      {"recorded_include_directories", "before kernel 'scale': its module has no bundle"},
      {"recorded_external_work", "before library: work of other code"},
      {"recorded_unknown_memory", "before kernel 'scale': argument 2 is an address of memory that Weir does not know"},
      {"wrong_a_node_that_is_changed", "before GraphExec::apply: changes to nodes"},
  };
  for (const auto& [program, cause] : cases) {
    CAPTURE(std::string(program));
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/recording";
    const Outcome recorded = record(file, program);
    CAPTURE(recorded.errors);
    if (recorded.complains("refused: ")) continue;  // a GPU does not read the host's memory
    CHECK(recorded.status == 0);
    CHECK(recorded.complains(cause));
    const Outcome outcome = replay(file);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 0);
    CHECK(outcome.complains("weir replay: the recording ends: "));
    CHECK(outcome.says("results have the bytes of the recording"));
  }
}

TEST_CASE("record: beyond its limit the recording stops, and replays up to there") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  const Outcome recorded = record(file, "recorded_much", {"--limit", "300kb"});
  CHECK(recorded.status == 0);
  CHECK(recorded.complains("the recording has reached its limit of 307200 bytes"));
  CHECK(std::filesystem::file_size(file) < 310000);
  const Outcome outcome = replay(file);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(outcome.complains("has reached its limit"));
  CHECK_FALSE(outcome.says("100 of 100"));
  CHECK_FALSE(outcome.says("0 of 0"));
}

TEST_CASE("record: a wrong limit, and a file that cannot be made, are told before the program runs") {
  const TemporaryFolder folder;
  const Outcome limit = weir::test::run(WEIR_TEST_PROGRAMS, {"recorded_work"},
                                        {{"WEIR_BACKEND", "host"},
                                         {"WEIR_TOOLS", "record"},
                                         {"WEIR_RECORD_LIMIT", "1x"},
                                         {"WEIR_RECORD_FILE", folder.path() + "/x"}});
  CHECK(limit.complains("WEIR_RECORD_LIMIT='1x'"));
  CHECK(record(folder.path() + "/none/x", "recorded_work").status == 3);
}

TEST_CASE("replay: damage, and what is no recording, are refused with the reason") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_exit").status == 3);
  const Bytes whole = read_file(file);
  CHECK(refusal_of(whole).empty());
  CHECK(has(refusal_of({}), "it is no recording"));
  CHECK(has(refusal_of(Bytes(1000)), "it is no recording"));
  Bytes changed = whole;
  changed[8] = std::byte{2};
  CHECK(has(refusal_of(changed), "version 2 of the format, and this Weir reads version 1"));
  changed = whole;
  changed[changed.size() - 20] ^= std::byte{1};
  CHECK(has(refusal_of(changed), "a check number is another one"));
  changed = whole;
  changed.resize(changed.size() - 5);
  CHECK(refusal_of(changed).empty());
  CHECK(has(weir::tool::Recording(changed).end, "the file ends within a record"));
  write_file(file, Bytes(1000));
  const Outcome outcome = replay(file);
  CHECK(outcome.status == 2);
  CHECK(outcome.complains("it is no recording"));
  CHECK(replay(folder.path() + "/none").status == 2);
}

TEST_CASE("replay: thousands of random changes are refused, or make a recording that stays within its memory") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  std::mt19937_64 random(1);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (const char* program : {"recorded_work", "recorded_graphs", "recorded_conditional"}) {
    CHECK(record(file, program).status == 0);
    const Bytes whole = read_file(file);
    int refused = 0, taken = 0;
    for (int i = 0; i < 1000; ++i) {
      Bytes bytes = whole;
      const std::size_t segments = 1 + below(3);
      std::size_t left = below(60);
      for_each_segment(bytes, [&](std::span<std::byte> records) {
        if (left-- >= segments || records.size() < 8) return;
        const std::size_t at = below(records.size() - 7);
        const std::uint64_t number = random() >> below(64);
        if (below(2) == 0) {
          records[at] ^= static_cast<std::byte>(1U << below(8));
        } else {
          std::memcpy(records.data() + at / 4 * 4, &number, std::min<std::size_t>(8, records.size() - at / 4 * 4));
        }
      });
      if (below(4) == 0) bytes.resize(below(bytes.size()));
      (refusal_of(Bytes(bytes)).empty() ? taken : refused) += 1;
    }
    CHECK(refused > 50);
    CHECK(taken > 50);
  }
}
