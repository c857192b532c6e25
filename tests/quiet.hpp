// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace weir::test {

/// Waits until all other threads of this process sleep, so that a child process that is forked then finds no lock taken.
/// Some locks are not freed by fork: oneTBB's allocator waits for its lock when a process exits, and so does the address
/// sanitizer for each block.
inline void wait_until_others_sleep() {
  const std::string own = std::to_string(::gettid());
  // A thread that sleeps may be woken by one that is looked at after it, and that sleeps by then; hardly each time.
  for (int quiet = 0; quiet < 5;) {
    bool asleep = true;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() == own) continue;
      std::string text;
      std::getline(std::ifstream(thread.path() / "stat"), text);
      const std::size_t state = text.rfind(") ");  // behind the name; nothing of a thread that has ended
      asleep = asleep && (state == std::string::npos || text[state + 2] == 'S');
    }
    quiet = asleep ? quiet + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace weir::test
