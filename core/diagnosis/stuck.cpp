// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/stuck.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/environment.hpp"
#include "core/diagnosis/journal.hpp"
#include "core/diagnosis/wait_chains.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/plugin/support.hpp"

// Implements WEIR_STUCK: the thread that watches calls, the report, and the socket for `weir stuck`.
namespace weir {

using detail::Stuck;
using std::chrono::milliseconds;

namespace {

constexpr const char* stuck_variable = "WEIR_STUCK";

/// Parses "30s", "500ms" or "2min"; nullopt for any other text.
std::optional<milliseconds> time_of(std::string_view text) {
  long count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (error != std::errc() || count < 1 || count > 1000000) return std::nullopt;
  if (unit == "ms") return milliseconds(count);
  if (unit == "s") return milliseconds(count * 1000);
  if (unit == "min") return milliseconds(count * 60000);
  return std::nullopt;
}

std::string object_of(const Operation& operation) {
  if (operation.event != nullptr && operation.stream == nullptr) return operation.event->describe();
  return operation.stream != nullptr ? support::label_of(operation.stream_key) : operation.device->describe();
}

/// Writes the text in one system call if possible, so that lines of other threads do not appear in between.
void write_text(int file, const std::string& text) noexcept {
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Creates a Unix socket that listens at the abstract address `name`. Returns its descriptor, or -1 on failure.
int listen_at(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), std::min(name.size(), sizeof(address.sun_path) - 1));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return -1;
  if (::bind(file, reinterpret_cast<const sockaddr*>(&address), size) == 0 && ::listen(file, 4) == 0) return file;
  ::close(file);
  return -1;
}

/// Whether the process that has connected may get the report: only processes of the same user or of root may.
bool may_ask(int file) noexcept {
  ucred other{};
  socklen_t size = sizeof(other);
  return ::getsockopt(file, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && (other.uid == ::geteuid() || other.uid == 0);
}

}  // namespace

std::string detail::stuck_address(int process) { return fmt::format("weir-stuck-{}", process); }

std::unique_ptr<Tool> Stuck::make_if_wanted() {
  const std::optional<std::string> text = support::environment(stuck_variable);
  if (!text) return nullptr;
  const std::optional<milliseconds> limit = time_of(*text);
  if (!limit) {
    throw_invalid_environment(stuck_variable, *text,
                              "it is not a time; set it to a whole number and ms, s or min, such as 30s, or unset it");
  }
  return std::unique_ptr<Tool>(new Stuck(*limit));
}

Stuck::Stuck(milliseconds limit) : limit_(limit) {
  listener_ = listen_at(stuck_address(::getpid()));
  if (listener_ < 0)
    support::log(support::LogLevel::warn, "`weir stuck` cannot query this process: its socket cannot be created");
  // Close the socket in forked children: they have no thread that would answer, and the address contains the parent's
  // process id.
  static int inherited = -1;
  inherited = listener_;
  ::pthread_atfork(nullptr, nullptr, [] {
    if (inherited >= 0) ::close(std::exchange(inherited, -1));
  });
  const support::SignalsBlocked no_signals;
  std::thread([this] { watch(); }).detach();
}

void Stuck::before(const Operation& operation) {
  const auto thread = static_cast<int>(::syscall(SYS_gettid));
  const std::lock_guard lock(mutex_);
  calls_.insert_or_assign(operation.id, Call{&operation, thread, Clock::now(), false});
}

void Stuck::after(const Operation& operation) noexcept {
  const std::lock_guard lock(mutex_);
  calls_.erase(operation.id);
}

void Stuck::watch() noexcept {
  const auto pause = static_cast<int>(std::clamp(limit_ / 4, milliseconds(5), milliseconds(500)).count());
  for (;;) try {
      pollfd asked{listener_, POLLIN, 0};  // poll ignores a negative descriptor
      if (::poll(&asked, 1, pause) > 0 && (asked.revents & POLLIN) != 0) answer();
      if (mark_late_calls())
        tell(STDERR_FILENO, fmt::format("weir stuck: process {} has waited for {} ms", ::getpid(), limit_.count()));
    } catch (const std::exception& error) {
      support::log(support::LogLevel::error, "the report of stuck calls failed: ", error.what());
    }
}

void Stuck::answer() const {
  const int other = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (other < 0) return;
  if (may_ask(other)) tell(other, fmt::format("weir stuck: process {}", ::getpid()));
  ::close(other);
}

/// Whether a call that was not yet reported has exceeded the limit. If so, marks all present calls as reported, because the
/// report contains all of them.
bool Stuck::mark_late_calls() {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  const auto is_late = [&](const auto& call) { return !call.second.is_told && now - call.second.since >= limit_; };
  if (std::none_of(calls_.begin(), calls_.end(), is_late)) return false;
  for (auto& [id, call] : calls_) call.is_told = true;
  return true;
}

void Stuck::tell(int file, const std::string& title) const {
  std::string text = title + '\n';
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, call] : calls_) {
      const std::chrono::duration<double> time = Clock::now() - call.since;
      text += fmt::format("  thread {} has been in {} of {} for {:.1f} s\n", call.thread, call.operation->name,
                          object_of(*call.operation), time.count());
    }
    if (calls_.empty()) text += "  no thread is in a call of Weir\n";
  }
  const WaitChains chains;
  text += chains.streams().empty() ? "  no stream has known work\n" : chains.describe();
  if (chains.all_wait())
    text += "  no stream can continue by itself: a thread of the program, or another process, must end a wait\n";
  write_text(file, text);
}

}  // namespace weir
