// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "subprocess.hpp"

using weir::test::Outcome;
using weir::test::run_child;

// Tests how processes end. A crash changes the exit status, and so does a leak that the address sanitizer reports.

TEST_CASE("exit: a process ends cleanly, whatever it has opened") {
  for (const auto& commands : {std::vector<std::string>{},
                               {"open", "immediate"},
                               {"list"},
                               {"open", "nosuch"},
                               {"open", "text"},
                               {"race", "immediate"}}) {
    const Outcome outcome = run_child(commands);
    CHECK(outcome.status == 0);
    CHECK(outcome.errors.empty());
  }
  CHECK(run_child({"open", "misfit"}, {{"WEIR_TEST_FACTORY", "exception"}}).status == 0);
}

TEST_CASE("exit: objects may outlive main, and be used there") {
  CHECK(run_child({"remain", "immediate"}).status == 0);
  const Outcome outcome = run_child({"remain", "immediate"}, {{"WEIR_TEST_LATE", "1"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.says("used after main"));
  CHECK(outcome.errors.empty());
}

TEST_CASE("exit: the reclaimer calls no driver that has ended, whichever was there first") {
  CHECK(run_child({"reclaim_beside_later_driver"}).says("calls of a driver that has ended: 0\n"));
}

#if WEIR_TEST_HAS_HOST
TEST_CASE("exit: likewise on the host backend, whose threads end with the process") {
  for (int i = 0; i < 20; ++i) {
    const Outcome outcome = run_child({"remain", "host"});
    CHECK(outcome.status == 0);
    CHECK(outcome.errors.empty());
  }
  const Outcome inherited = run_child({"remain", "host", "fork", "use_inherited"});
  CHECK(inherited.says("the child's status: 0"));
  CHECK(inherited.count("error: forked_process") == 6);
}
#endif
