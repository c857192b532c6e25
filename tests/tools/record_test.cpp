// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/run_program.hpp"
#include "tests/unit/damage.hpp"
#include "tools/record/format.hpp"
#include "tools/weir/recording.hpp"
#include "weir/error.hpp"

// Tests that `weir replay` repeats the operations that `weir record` has written, with the same results. The tests use the
// default device of WEIR_TEST_BACKEND, or else the host.

namespace {

using weir::detail::BundleHeader;
using weir::test::Bytes;
using weir::test::Damage;
using weir::test::Environment;
using weir::test::Outcome;
using weir::test::TemporaryFolder;

std::string backend() {
  const char* const name = std::getenv("WEIR_TEST_BACKEND");
  return name != nullptr ? name : "host";
}

Outcome record(const std::string& file, const std::string& program, Environment environment = {}) {
  environment["WEIR_HOST_DEVICES"] = "2";
  return weir::test::run(WEIR_TEST_WEIR,
                         {"record", "--backend", backend(), "-o", file, "--", WEIR_TEST_PROGRAMS, program}, environment);
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
  std::ofstream(name, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ::chmod(name.c_str(), 0600);
}

/// Calls `function(header, records)` for each segment, and writes its check number anew.
template <class F>
void for_each_segment(Bytes& bytes, F&& function) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at + sizeof(BundleHeader) <= bytes.size();) {
    BundleHeader header{};
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    if (header.size < sizeof(header) || header.size > bytes.size() - at) return;
    const auto records = std::span(bytes).subspan(at + sizeof(header), header.size - sizeof(header));
    function(records);
    header.check = weir::recording::segment_check(number++, records);
    std::memcpy(bytes.data() + at, &header, sizeof(header));
    at += header.size;
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

/// A record of a recording, taken apart. The data of an operation begins with a SavedOperation.
struct Record {
  std::string kind, name;
  Bytes data;
};
using weir::OperationKind;
using weir::recording::SavedOperation;

std::vector<Record> records_of(const Bytes& file) {
  std::vector<Record> records;
  const auto none = +[](std::span<const std::byte>, const std::string& flaw) { FAIL(flaw); };
  for (std::span<const std::byte> rest = file; !rest.empty();) {
    BundleHeader header{};
    std::memcpy(&header, rest.data(), sizeof(header));
    weir::detail::BundleReader reader(rest.first(header.size), weir::recording::magic, weir::recording::version, "", none);
    while (!reader.at_end()) {
      reader.next();
      records.push_back({reader.kind, std::string(reader.name), {reader.data.begin(), reader.data.end()}});
    }
    rest = rest.subspan(header.size);
  }
  return records;
}

/// The same in one segment.
Bytes file_of(const std::vector<Record>& records) {
  weir::detail::BundleWriter writer;
  for (const Record& each : records) writer.add(each.kind, each.name, each.data);
  return writer.with_header(weir::recording::magic, weir::recording::version,
                            weir::recording::segment_check(0, writer.records()));
}

SavedOperation operation_of(const Record& record) {
  SavedOperation operation{};
  std::memcpy(&operation, record.data.data(), sizeof(operation));
  return operation;
}

/// Changes the first operation of that kind by `function(operation, data behind it)`.
template <class F>
std::vector<Record>::iterator change(std::vector<Record>& records, OperationKind kind, F&& function) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.kind == "oper" && operation_of(record).kind == static_cast<std::uint8_t>(kind);
  });
  REQUIRE(found != records.end());
  SavedOperation operation = operation_of(*found);
  Bytes data(found->data.begin() + sizeof(operation), found->data.end());
  function(operation, data);
  found->data.resize(sizeof(operation));
  std::memcpy(found->data.data(), &operation, sizeof(operation));
  found->data.insert(found->data.end(), data.begin(), data.end());
  return found;
}

/// The number of the first operation of that kind.
std::uint32_t number_of(const std::vector<Record>& records, OperationKind kind) {
  std::uint32_t number = 0;
  for (const Record& record : records) {
    number += record.kind == "oper";
    if (record.kind == "oper" && operation_of(record).kind == static_cast<std::uint8_t>(kind)) return number;
  }
  FAIL("no such operation");
  return 0;
}

/// Replays a file, for a minute at most: the exit status is 124 then.
Outcome replay_in_time(const std::string& file) {
  return weir::test::run("/usr/bin/env", {"timeout", "20", WEIR_TEST_WEIR, "replay", "--backend=host", file},
                         {{"WEIR_STUCK", "3s"}});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("record: kernels, copies, host functions and memory of all kinds replay with the same results") {
  CHECK(has(replayed("recorded_work"), " operations on 2 streams; 9 of 9 results are equal to the recording\n"));
}

TEST_CASE("record: captures, updates, child graphs and launches with new inputs replay with the same results") {
  CHECK(has(replayed("recorded_graphs"), "5 of 5 results are equal to the recording"));
}

TEST_CASE("record: values that streams and the host write end the waits of a replay, too") {
  CHECK(has(replayed("recorded_waits"), "1 of 1 results are equal to the recording"));
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
  CHECK(record(file, "wrong_two_kernels").status == 0);
  const Outcome race = replay(file, {{"WEIR_TOOLS", "race"}});
  CAPTURE(race.errors);
  CHECK(race.status == 66);
  CHECK(race.complains("operation 5: kernel 'scale' " + file + ":5"));
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
  std::vector<Record> records = records_of(read_file(file));
  int pieces = 0;
  for (Record& each : records) {
    if (each.kind == "piec" && ++pieces == 3) each.data[40] ^= std::byte{1};
  }
  CHECK(pieces > 4);
  write_file(file, file_of(records));
  const Outcome outcome = replay(file);
  CAPTURE(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.says("0 of 1 results are equal to the recording"));
  CHECK(outcome.says("Stream::copy on stream 1: "));
  CHECK(outcome.says(" of 20000\n"));
}

TEST_CASE("record: a program that ends by _exit, or aborts, leaves a recording of what it did") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_exit").status == 3);
  const Outcome exited = replay(file);
  CHECK(exited.status == 3);
  CHECK(exited.says("1 of 1 results are equal to the recording"));
  CHECK(exited.complains("the recording ends: the program did not end"));
  CHECK(record(file, "recorded_abort").status == 134);
  const Outcome outcome = replay(file);
  CHECK(outcome.status == 3);
  CHECK(outcome.says("1 of 1 results are equal to the recording"));
  CHECK(outcome.complains("the recording ends: the data that Stream::copy reads was not recorded"));
}

TEST_CASE("record: what cannot be recorded is told with its remedy, and the program goes on") {
  const struct {
    const char *program, *cause;
  } cases[] = {
      {"recorded_include_directories", "before kernel 'scale': its module has no bundle"},
      {"recorded_external_work", "before library: Weir cannot see the work of other code"},
      {"recorded_unknown_memory", "before kernel 'scale': argument 2 is an address of memory unknown to Weir"},
      {"wrong_a_node_that_is_changed", "before GraphExec::apply: changes to nodes"},
      {"right_the_body_of_a_condition", "before Stream::capture_if: conditional nodes cannot be recorded"},
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
    CHECK(outcome.says("results are equal to the recording"));
  }
}

TEST_CASE("record: beyond its limit the recording stops, and replays up to there") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  const Outcome recorded = record(file, "recorded_much", {{"WEIR_RECORD_LIMIT", "307200"}});
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

TEST_CASE("record: a file that cannot be written to its end changes the exit status") {
  const Outcome outcome = record("/dev/full", "recorded_work");
  CHECK(outcome.status == 3);
  CHECK(outcome.complains("'/dev/full' cannot be written"));
  CHECK(outcome.complains("0 bytes\n"));
}

TEST_CASE("record: a wrong limit, and a file that cannot be made, are told before the program runs") {
  const TemporaryFolder folder;
  const Outcome limit = weir::test::run_program(
      "recorded_work", {{"WEIR_TOOLS", "record"}, {"WEIR_RECORD_LIMIT", "1x"}, {"WEIR_RECORD_FILE", folder.path() + "/x"}});
  CHECK(limit.complains("WEIR_RECORD_LIMIT='1x'"));
  CHECK(record(folder.path() + "/none/x", "recorded_work").status == 3);
}

TEST_CASE("replay: damage, and what is no recording, are refused with the reason") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_exit").status == 3);
  const Bytes whole = read_file(file);
  CHECK(refusal_of(whole).empty());
  CHECK(has(refusal_of({}), "it is not a recording"));
  CHECK(has(refusal_of(Bytes(1000)), "it is not a recording"));
  Bytes changed = whole;
  changed[8] = std::byte{1};
  CHECK(has(refusal_of(changed), "version 1 of the format, but this Weir reads version 2"));
  changed = whole;
  changed[changed.size() - 20] ^= std::byte{1};
  CHECK(has(refusal_of(changed), " was changed, or is in the wrong place"));
  changed = whole;
  changed.resize(changed.size() - 5);
  CHECK(refusal_of(changed).empty());
  CHECK(has(weir::tool::Recording(changed).end, "the file ends within a record"));
  write_file(file, Bytes(1000));
  const Outcome outcome = replay(file);
  CHECK(outcome.status == 2);
  CHECK(outcome.complains("it is not a recording"));
  CHECK(replay(folder.path() + "/none").status == 2);
}

TEST_CASE("replay: thousands of random changes are refused, or make a recording that stays within its memory") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  Damage damage(1);
  for (const char* program : {"recorded_work", "recorded_graphs"}) {
    CHECK(record(file, program).status == 0);
    const Bytes whole = read_file(file);
    int refused = 0, taken = 0;
    for (int i = 0; i < 1000; ++i) {
      Bytes bytes = whole;
      const std::size_t segments = 1 + damage.below(3);
      std::size_t left = damage.below(60);
      for_each_segment(bytes, [&](std::span<std::byte> records) {
        if (left-- >= segments || records.size() < 8) return;
        const std::size_t at = damage.below(records.size() - 7);
        const std::uint64_t number = damage.number() >> damage.below(64);
        if (damage.below(2) == 0) {
          records[at] ^= static_cast<std::byte>(1U << damage.below(8));
        } else {
          std::memcpy(records.data() + at / 4 * 4, &number, std::min<std::size_t>(8, records.size() - at / 4 * 4));
        }
      });
      if (damage.below(4) == 0) bytes.resize(damage.below(bytes.size()));
      (refusal_of(Bytes(bytes)).empty() ? taken : refused) += 1;
    }
    CHECK(refused > 50);
    CHECK(taken > 50);
  }
}

TEST_CASE("replay: lost, doubled and swapped segments are noticed, and so is a cut") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  CHECK(record(file, "recorded_work").status == 0);
  const Bytes whole = read_file(file);
  std::vector<Bytes> segments;
  for (std::size_t at = 0; at < whole.size(); at += segments.back().size()) {
    BundleHeader header{};
    std::memcpy(&header, whole.data() + at, sizeof(header));
    segments.emplace_back(whole.begin() + static_cast<std::ptrdiff_t>(at),
                          whole.begin() + static_cast<std::ptrdiff_t>(at + header.size));
  }
  REQUIRE(segments.size() > 20);
  const auto joined = [](const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    CAPTURE(i);
    std::vector<Bytes> lost = segments, doubled = segments, swapped = segments;
    const auto at = static_cast<std::ptrdiff_t>(i);
    lost.erase(lost.begin() + at);
    doubled.insert(doubled.begin() + at, segments[i]);
    std::swap(swapped[i], swapped[i + 1]);
    for (const auto& damaged : {lost, doubled, swapped})
      CHECK(has(refusal_of(joined(damaged)), " was changed, or is in the wrong place"));
    const Bytes cut = joined({segments.begin(), segments.begin() + at + 1});
    CHECK_FALSE(weir::tool::Recording(cut).is_complete);
  }
  CHECK(weir::tool::Recording(whole).is_complete);
  for (const std::size_t size : {whole.size() - segments.back().size(), whole.size() / 2}) {
    write_file(file, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const Outcome outcome = replay(file);
    CHECK(outcome.status == 3);
    CHECK(outcome.complains("weir replay: the recording ends: "));
  }
}

TEST_CASE("replay: what an operation needs is checked before anything runs") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/recording";
  const auto recorded = [&](const char* program) {
    CHECK(record(file, program).status == 0);
    return records_of(read_file(file));
  };
  const std::vector<Record> work = recorded("recorded_work"), graphs = recorded("recorded_graphs");
  CHECK(refusal_of(file_of(work)).empty());

  std::vector<Record> records = graphs;
  change(records, OperationKind::capture_dependencies, [&](SavedOperation&, Bytes& nodes) {
    const std::uint32_t allocation = number_of(graphs, OperationKind::allocate);
    nodes.resize(sizeof(allocation));
    std::memcpy(nodes.data(), &allocation, sizeof(allocation));
  });
  CHECK(has(refusal_of(file_of(records)), " is not a node"));

  for (const OperationKind kind : {OperationKind::host_copy, OperationKind::copy}) {
    records = work;
    change(records, kind, [](SavedOperation& operation, Bytes& data) {
      operation.reads = operation.results = 0;
      data.assign(4, std::byte{0});
    });
    CHECK(has(refusal_of(file_of(records)), "a list of copies is empty"));
  }

  records = work;
  change(records, OperationKind::copy, [](SavedOperation& operation, Bytes&) {
    operation.kind = static_cast<std::uint8_t>(OperationKind::prefetch);  // which no recording has
  });
  CHECK(has(refusal_of(file_of(records)), "an operation has the kind 8"));

  records = graphs;  // an executable's update becomes the end of memory that is used later
  change(records, OperationKind::launch_graph, [](SavedOperation& operation, Bytes& data) {
    operation.kind = static_cast<std::uint8_t>(OperationKind::free);
    operation.reads = operation.results = operation.object = 0;
    data.clear();
  });
  std::erase_if(records, [](const Record& record) { return record.kind == "rslt" || record.kind == "cont"; });
  write_file(file, file_of(records));
  CHECK(replay_in_time(file).status < 124);

  // Runs of host functions that are not launched, or not as often.
  records = work;
  const auto ran = std::ranges::find_if(records, [](const Record& record) {
    if (record.kind != "oper") return false;
    const SavedOperation operation = operation_of(record);
    return operation.kind == static_cast<std::uint8_t>(OperationKind::host_function) &&
           operation.stream == weir::recording::none;
  });
  REQUIRE(ran != records.end());
  records.insert(records.end() - 1, Record(*ran));  // before the end, so that the numbers of operations stay
  write_file(file, file_of(records));
  const Outcome outcome = replay_in_time(file);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 2);
  CHECK(outcome.complains("has run more often than it was launched"));
}
