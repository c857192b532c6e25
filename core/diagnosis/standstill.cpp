// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/standstill.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "weir/plugin/waits.hpp"

namespace weir {
namespace {

/// The threads that watch. There are a few.
std::array<std::atomic<pid_t>, 64> watching_threads{};

pid_t own_thread() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

bool only_watches(pid_t thread) noexcept {
  return std::any_of(watching_threads.begin(), watching_threads.end(),
                     [thread](const std::atomic<pid_t>& watching) { return watching.load() == thread; });
}

/// What stands in the file behind the word; "" if it is not there.
std::string line_behind(const std::string& file, const std::string& word) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word)) return line.substr(word.size());
  }
  return "";
}

/// Whether a call of the system, as /proc/self/task/…/syscall shows it, ends only when another thread ends it.
bool sleeps_for_ever(const std::string& call) {
  long number = 0;
  std::uintptr_t word = 0, operation = 0, value = 0, timeout = 0;
  if (std::sscanf(call.c_str(), "%ld %" SCNxPTR " %" SCNxPTR " %" SCNxPTR " %" SCNxPTR, &number, &word, &operation, &value,
                  &timeout) != 5)
    return false;
  const std::uintptr_t what = operation & FUTEX_CMD_MASK;
  const bool waits = what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET || what == FUTEX_LOCK_PI;
  // Another process may wake it if the word is shared.
  return number == SYS_futex && waits && timeout == 0 &&
         ((operation & FUTEX_PRIVATE_FLAG) != 0 || !detail::is_shared_memory(reinterpret_cast<const void*>(word)));
}

/// Each thread's call, and how often it has run until now, if all but those that only watch sleep for ever.
std::optional<std::string> all_asleep() {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string folder = entry.path().string(), name = entry.path().filename().string();
    const auto thread = static_cast<pid_t>(std::stol(name));
    if (thread == own_thread() || only_watches(thread)) continue;
    const std::string call = line_behind(folder + "/syscall", "");
    if (!sleeps_for_ever(call)) return std::nullopt;
    const std::string runs = line_behind(folder + "/status", "voluntary_ctxt_switches:");
    if (runs.empty()) return std::nullopt;
    all += name + ' ' + call + runs + '\n';
  }
  return all;
}

/// An interpreter's handler notes the signal for a thread that runs the program, and none does while all sleep.
bool is_of_interpreter(int signal) noexcept {
  struct sigaction action {};
  Dl_info file{};
  if (::sigaction(signal, nullptr, &action) != 0 ||
      ::dladdr(reinterpret_cast<const void*>(action.sa_handler), &file) == 0 || file.dli_fname == nullptr)
    return false;
  // The file itself: modules of the interpreter, and their folders, have its name in theirs.
  std::string_view name = file.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);
  if (name.starts_with("lib")) name.remove_prefix(3);
  constexpr std::string_view interpreter = "python";
  return name.starts_with(interpreter) &&
         (name.size() == interpreter.size() || (name[interpreter.size()] >= '0' && name[interpreter.size()] <= '9'));
}

/// Whether the program handles signals that somebody may send, or a timer: a handler may end any wait. Those of faults, of
/// profilers and of the C library's own do not count.
bool handles_signals() {
  const std::string caught = line_behind("/proc/self/status", "SigCgt:");
  if (caught.empty()) return true;
  std::uint64_t signals = std::stoull(caught, nullptr, 16);
  const auto leave_out = [&](int signal) { signals &= ~(std::uint64_t{1} << static_cast<unsigned>(signal - 1)); };
  for (const int signal : {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGPIPE, SIGPROF, SIGSYS, 32, 33})
    leave_out(signal);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (is_of_interpreter(signal)) leave_out(signal);
  }
  return signals != 0;
}

}  // namespace

void support::note_watching_thread() noexcept {
  for (std::atomic<pid_t>& place : watching_threads) {
    pid_t none = 0;
    if (place.compare_exchange_strong(none, own_thread())) return;
  }
}

bool detail::nothing_can_happen(const std::function<bool()>& is_blocked) noexcept try {
  if (handles_signals()) return false;
  // A thread that was not run between the two looks slept all the time, so there was a moment when all of them did.
  const std::optional<std::string> before = all_asleep();
  return before && is_blocked() && all_asleep() == before;
} catch (const std::exception&) {  // a thread has ended meanwhile, or no memory
  return false;
}

bool detail::is_shared_memory(const void* address) noexcept try {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  bool is_shared = true;  // unless it is told
  for (std::string line; std::getline(maps, line);) {
    const std::size_t device = line.find(" /dev/");
    const bool is_of_device =
        device != line.npos && line.find("/dev/zero", device) == line.npos && line.find("/dev/shm", device) == line.npos;
    // The kernel writes there for rings of requests (io_uring, AIO), and devices by themselves.
    const bool is_of_requests = line.find("anon_inode:") != line.npos || line.find("/[aio]") != line.npos;
    if (is_of_device || is_of_requests) return true;
    std::uintptr_t begin = 0, end = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) != 3) continue;
    if (begin <= wanted && wanted < end) is_shared = rights[3] == 's';
  }
  return is_shared;
} catch (const std::exception&) {
  return true;
}

}  // namespace weir
