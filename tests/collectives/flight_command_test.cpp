// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"
#include "weir/weir.hpp"

// The files of flight records, and what `weir flight` finds in them.

using weir::test::Outcome;

namespace {

std::vector<std::string> files_of(const weir::test::TemporaryFolder& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Outcome story(const std::vector<std::string>& steps, const std::string& folder) {
  std::vector<std::string> arguments = {"host"};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  return weir::test::run(STORY, arguments, {{"WEIR_HOST_DEVICES", "3"}, {"WEIR_FLIGHT_RECORD", folder}});
}

Outcome compare(std::vector<std::string> files) {
  files.insert(files.begin(), "flight");
  return weir::test::run(COMMAND, files);
}

}  // namespace

TEST_CASE("flight: a rank that did not come is behind") {
  const weir::test::TemporaryFolder folder;
  CHECK_SAYS(story({"make_short", "all_reduce", "synchronize", "all_reduce_but_last", "wait_for_failure", "check_each"},
                   folder.path()),
             "wait_for_failure: communicator_failed");
  std::vector<std::string> files = files_of(folder);
  REQUIRE(files.size() == 3);
  CHECK(files[0].find("/ranks3-1.rank0.") != std::string::npos);
  const Outcome all = compare(files);
  CHECK_SAYS(all, "communicator ranks3-1: 3 of 3 ranks\n");
  CHECK_SAYS(all, "): waits in all_reduce of 1000 float32 by sum (number 2), started\n");
  CHECK_SAYS(all, "    failure: all_reduce of 1000 float32 by sum of rank 0 has waited for 300 ms for rank 2\n");
  CHECK_SAYS(
      all,
      "  rank 2 is behind: it has called 1 of 2 collectives, the last one all_reduce of 1000 float32 by sum (number 1)");
  CHECK(all.status == 1);
  files.pop_back();
  CHECK_SAYS(compare(files), "  rank 2 left no record");
}

TEST_CASE("flight: ranks that call different operations, and a message that nobody receives") {
  const weir::test::TemporaryFolder folder, other, same;
  story({"make_short", "all_reduce", "last_broadcasts", "wait_for_failure", "check_each"}, folder.path());
  const Outcome kinds = compare(files_of(folder));
  CHECK_SAYS(kinds,
             "  the ranks differ from number 2 on: ranks 0, 1 all_reduce of 1000 float32 by sum; rank 2 broadcast of 1000 "
             "float32 with root 0\n");
  CHECK_FALSE(kinds.says("is behind"));
  story({"make_short", "send_alone", "wait_for_failure", "check_each"}, other.path());
  CHECK_SAYS(compare(files_of(other)),
             "  rank 0 waits in send of 1000 float32 to rank 1 (message 1), which rank 1 has not called\n");
  story({"make", "all_reduce", "synchronize", "abort", "check_each"}, same.path());
  const Outcome agreed = compare(files_of(same));
  CHECK_SAYS(agreed, "  all ranks have called the same operations\n");
  CHECK(agreed.status == 0);
}

TEST_CASE("flight: a full disk loses the record and nothing else") {
  const weir::test::TemporaryFolder folder;
  const Outcome o = story({"full_disk", "make_short", "all_reduce", "all_reduce", "all_reduce", "all_reduce", "all_reduce",
                           "all_reduce", "all_reduce", "all_reduce", "abort", "make", "all_reduce", "value"},
                          folder.path());
  CHECK(o.complains("could not be written: File too large"));
  CHECK(files_of(folder).empty());
  CHECK_SAYS(o, "abort: ok\n");
  CHECK_SAYS(o, "value: ok\n");
  CHECK(story({"make_short", "abort"}, folder.path() + "/missing").complains("No such file or directory"));
  CHECK_SAYS(story({"make"}, "relative"), "make: invalid_environment");
}

TEST_CASE("flight: a file that is no record is refused") {
  const weir::test::TemporaryFolder folder;
  const std::string file = folder.path() + "/a.json";
  for (const char* const text :
       {"", "{}", "[1]", R"({"weir_flight_record": 2})", R"({"weir_flight_record": 1, "rank": "x"})",
        R"({"weir_flight_record": 1, "communicator": "c", "rank": 0, "ranks": 2147483647, "host": "h", "process": 1,
            "written": 0, "failure": "", "operations": []})"}) {
    std::ofstream(file) << text;
    const Outcome o = compare({file});
    CHECK(o.status == 2);
    CHECK(o.complains("weir flight: " + file + " is "));
  }
  CHECK(compare({folder.path() + "/none"}).complains("cannot be read"));
}
