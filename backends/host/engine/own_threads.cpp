// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/own_threads.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/no_destructor.hpp"

namespace weir::host {
namespace {

struct OwnThreads {
  std::mutex mutex;
  std::vector<pid_t> numbers;
  std::size_t expected = 0;  // number of threads for which `numbers` has room

  static OwnThreads& instance() {
    static detail::NoDestructor<OwnThreads> threads;
    return *threads;
  }
};

/// Returns the thread's state from /proc/self/task/[tid]/stat; 0 if the thread has ended.
char state_of(const char* number) {
  const std::string file = std::string("/proc/self/task/") + number + "/stat";
  const int opened = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return 0;
  char text[128];
  const ssize_t bytes = ::read(opened, text, sizeof text);
  ::close(opened);
  const std::string_view line(text, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  const std::size_t end_of_name = line.rfind(") ");
  return end_of_name != line.npos && end_of_name + 2 < line.size() ? line[end_of_name + 2] : '\0';
}

}  // namespace

void expect_own_thread() {
  OwnThreads& own = OwnThreads::instance();
  const std::lock_guard lock(own.mutex);
  own.numbers.reserve(own.numbers.size() + own.expected + 1);
  ++own.expected;
}

void forget_own_thread() noexcept {
  OwnThreads& own = OwnThreads::instance();
  const std::lock_guard lock(own.mutex);
  --own.expected;
}

void register_own_thread() noexcept {
  OwnThreads& own = OwnThreads::instance();
  const std::lock_guard lock(own.mutex);
  --own.expected;
  own.numbers.push_back(::gettid());
}

bool is_program_running() noexcept {
  DIR* const folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return false;
  OwnThreads& own = OwnThreads::instance();
  const std::lock_guard lock(own.mutex);
  bool runs = false;
  while (const dirent* const entry = ::readdir(folder)) {
    const bool is_own = std::find(own.numbers.begin(), own.numbers.end(), std::atoi(entry->d_name)) != own.numbers.end();
    if (is_own || entry->d_name[0] == '.') continue;
    const char state = state_of(entry->d_name);
    runs |= state == 'R' || state == 'D';  // D: in a page fault or waiting for a disk, which ends by itself
  }
  ::closedir(folder);
  return runs;
}

}  // namespace weir::host
