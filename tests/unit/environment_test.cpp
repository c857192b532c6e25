// SPDX-License-Identifier: Apache-2.0
#include "core/base/environment.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "subprocess.hpp"
#include "weir/error.hpp"

// Tests the functions that read environment variables.

using weir::Errc;
using weir::Error;
using weir::support::environment;
using weir::support::environment_number;
using weir::support::environment_path;

namespace {

constexpr const char* variable = "WEIR_TEST_VALUE";

class Set {
 public:
  explicit Set(const std::string& value) { ::setenv(variable, value.c_str(), 1); }
  ~Set() { ::unsetenv(variable); }
};

template <class F>
std::string refusal_when(F&& read) {
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_environment);
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("environment: a variable that is set, empty, or not set") {
  CHECK_FALSE(environment(variable).has_value());
  {
    const Set set("a b");
    CHECK(environment(variable) == "a b");
  }
  const Set set("");
  CHECK(environment(variable) == "");
}

TEST_CASE("environment: numbers in their range, and the fallback") {
  CHECK(environment_number(variable, 7, 0, 9) == 7);
  CHECK(environment_number(variable, 70, 0, 9) == 70);  // the fallback may lie outside: "not set" as a value of its own
  for (const auto& [text, value] : {std::pair("0", 0L), {"9", 9L}, {"05", 5L}}) {
    const Set set(text);
    CHECK(environment_number(variable, 7, 0, 9) == value);
  }
  const Set set("-3");
  CHECK(environment_number(variable, 7, -5, 9) == -3);
}

TEST_CASE("environment: text that is not a number in its range is refused, with the range") {
  const std::pair<std::string, std::string_view> rows[] = {
      {"", "not a whole number"},
      {" 1", "not a whole number"},
      {"1 ", "not a whole number"},
      {"+1", "not a whole number"},
      {"0x1", "not a whole number"},
      {"1.5", "not a whole number"},
      {"-", "not a whole number"},
      {"99999999999999999999x", "not a whole number"},
      {"-1", "out of range"},
      {"10", "out of range"},
      {"99999999999999999999", "out of range"},
      {"-99999999999999999999", "out of range"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.first);
    const Set set(row.first);
    const std::string what = refusal_when([] { environment_number(variable, 7, 0, 9); });
    CHECK(contains(what, "WEIR_TEST_VALUE='" + row.first + "'"));
    CHECK(contains(what, row.second));
    CHECK(contains(what, "from 0 to 9"));
  }
}

TEST_CASE("environment: paths are absolute") {
  CHECK_FALSE(environment_path(variable).has_value());
  {
    const Set set("/usr/lib/libcuda.so.1");
    CHECK(environment_path(variable) == "/usr/lib/libcuda.so.1");
  }
  for (const std::string text : {"", "libcuda.so.1", "./libcuda.so.1", "../x", " /x"}) {
    CAPTURE(text);
    const Set set(text);
    CHECK(contains(refusal_when([] { environment_path(variable); }), "absolute path"));
  }
}

TEST_CASE("environment: lists have elements, none of them empty") {
  using weir::detail::split_list;
  using Elements = std::vector<std::string_view>;
  CHECK(split_list("V", "a", ':', "r") == Elements{"a"});
  CHECK(split_list("V", "a:b c:d", ':', "r") == Elements{"a", "b c", "d"});
  const std::vector<std::pair<std::string, std::string>> complaints = {
      {"", "set but empty"}, {":", "element 1"}, {"a:", "element 2"}, {":a", "element 1"}, {"a::b", "element 2"}};
  for (const auto& wrong : complaints) {
    CAPTURE(wrong.first);
    const std::string what = refusal_when([&] { split_list("V", wrong.first, ':', "do better"); });
    CHECK(contains(what, "reading V='" + wrong.first + "'"));
    CHECK(contains(what, wrong.second));
    CHECK(contains(what, "do better"));
  }
}

TEST_CASE("environment: is not read in a process with raised privileges") {
  // A program with the set-group-id bit and another group runs so; only root can make one here.
  const weir::test::TemporaryFolder folder;
  const std::string program = folder.copy(WEIR_TEST_CHILD, "child");
  const gid_t other_group = ::getgid() + 1;
  if (::chmod(folder.path().c_str(), 0755) != 0 || ::chown(program.c_str(), ::geteuid(), other_group) != 0 ||
      ::chmod(program.c_str(), 02755) != 0) {
    MESSAGE("not root: skipped");
    return;
  }
  const auto outcome = weir::test::run(program, {"is_privileged", "number", "WEIR_TEST_NUMBER", "default"},
                                       {{"WEIR_TEST_NUMBER", "5"}, {"WEIR_BACKEND", "nosuch,,"}});
  if (outcome.says("privileged: no")) {
    MESSAGE("the temporary folder is mounted nosuid: skipped");
    return;
  }
  CHECK(outcome.says("privileged: yes"));
  CHECK(outcome.says("number: -1"));
  CHECK_FALSE(outcome.says("invalid_environment"));
}
