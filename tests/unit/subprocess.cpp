// SPDX-License-Identifier: Apache-2.0
#include "subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

// Implements running a program with another environment.

namespace weir::test {
namespace {

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

std::vector<std::string> merged(const Environment& environment) {
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!text.starts_with("WEIR_") && !environment.contains(std::string(text.substr(0, text.find('='))))) {
      all.emplace_back(text);
    }
  }
  for (const auto& [name, value] : environment) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Reads both ends to their end; either may fill up while the other is silent.
void drain(int output, int errors, Outcome& outcome) {
  pollfd ends[] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
  std::string* const texts[] = {&outcome.output, &outcome.errors};
  for (int open = 2; open > 0;) {
    if (::poll(ends, 2, -1) < 0 && errno != EINTR) check(errno, "poll");
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t size = ::read(ends[i].fd, buffer, sizeof(buffer));
      if (size > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(size));
      } else if (size == 0 || errno != EINTR) {
        ::close(ends[i].fd);
        ends[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

int count(std::string_view text, std::string_view in) {
  int n = 0;
  for (std::size_t at = in.find(text); at != std::string_view::npos; at = in.find(text, at + text.size())) ++n;
  return n;
}

Outcome run(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> argument_strings = arguments;
  argument_strings.insert(argument_strings.begin(), program);
  std::vector<std::string> environment_strings = merged(environment);

  int output[2], errors[2];
  check(::pipe2(output, O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
  check(::pipe2(errors, O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
  posix_spawn_file_actions_t actions;
  check(::posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
  check(::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0), "addopen");
  check(::posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO), "adddup2");
  check(::posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO), "adddup2");
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, pointers(argument_strings).data(),
                                  pointers(environment_strings).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(output[1]);
  ::close(errors[1]);
  check(error, program.c_str());

  Outcome outcome;
  drain(output[0], errors[0], outcome);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) check(errno == EINTR ? 0 : errno, "waitpid");
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

Outcome run_child(const std::vector<std::string>& arguments, Environment environment) {
  environment.try_emplace("WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS);
  return run(WEIR_TEST_CHILD, arguments, environment);
}

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) check(errno, "mkdtemp");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::folder(const std::string& name) const {
  std::string made = path_ + "/" + name;
  std::filesystem::create_directories(made);
  return made;
}

std::string TemporaryFolder::copy(const std::string& file, const std::string& name) const {
  std::string copied = path_ + "/" + name;
  std::filesystem::copy_file(file, copied);
  return copied;
}

}  // namespace weir::test
