// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace conformance {

Process::Process(std::vector<std::string> arguments, int from) {
  std::array<int, 2> in{}, out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], from);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::cout.flush();
  const int error = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_ = in[1];
  from_ = out[0];
  if (error != 0) throw std::runtime_error("'" + arguments[0] + "' cannot be started: " + std::strerror(error));
}

Process::~Process() {
  ::close(to_);
  ::close(from_);
  if (pid_ > 0) (void)end(true);
}

Process::Read Process::read(std::string& line, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Read::line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Read::late;
    pollfd p{from_, POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(std::min<long long>(left, 1 << 30))) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(from_, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      line = std::exchange(buffer_, {});
      return Read::end;
    }
    buffer_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

void Process::tell(const std::string& line) const {
  const std::string with_end = line + "\n";
  if (::write(to_, with_end.data(), with_end.size()) < 0) throw std::runtime_error("the process does not listen");
}

int Process::end(bool kills) {
  if (kills) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace conformance
