// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "commands.hpp"
#include "core/base/error_text.hpp"

namespace weir::tool {
namespace {

int report_failure(int process, const std::string& cause) {
  std::fprintf(stderr, "weir stuck: process %d %s\n", process, cause.c_str());
  return 1;
}

}  // namespace

// Connects to the socket of core/diagnosis/stuck.cpp in the other process.
int ask_what_is_stuck(int process) {
  const std::string name = "weir-stuck-" + std::to_string(process);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0 || ::connect(file, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (::kill(process, 0) != 0 && errno == ESRCH) return report_failure(process, "does not exist");
    return report_failure(process,
                          "cannot report: start the program again with 'weir run --stuck -- PROGRAM' or WEIR_STUCK=30s, and "
                          "run 'weir stuck' when it hangs");
  }
  const timeval most{10, 0};
  ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  // Any process can listen under this name, so check that the peer is the requested process.
  ucred other{};
  socklen_t length = sizeof(other);
  if (::getsockopt(file, SOL_SOCKET, SO_PEERCRED, &other, &length) != 0 || other.pid != process ||
      (other.uid != ::geteuid() && ::geteuid() != 0)) {
    ::close(file);
    return report_failure(
        process, fmt::format("is not the process that answers: that is process {} of user {}", other.pid, other.uid));
  }
  constexpr std::size_t most_bytes = std::size_t{1} << 20U;
  std::string text;
  char part[4096];
  ssize_t got = 0;
  while (text.size() < most_bytes && (got = ::read(file, part, sizeof(part))) > 0)
    text.append(part, static_cast<std::size_t>(got));
  ::close(file);
  if (got < 0) return report_failure(process, "does not answer: it may be stopped");
  if (text.empty()) return report_failure(process, "reports only to its own user");
  if (text.size() >= most_bytes) text += "\n(the report continues)\n";
  std::fputs(detail::escaped(text, "\n").c_str(), stdout);
  return 0;
}

}  // namespace weir::tool
