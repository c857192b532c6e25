// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/fiber_stacks.hpp"

#include <doctest/doctest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/run/kernel_crash.hpp"

namespace {

using weir::host::FiberContext;
using weir::host::FiberStackPool;
using weir::host::FiberStacks;

/// Runs `part` in a child process, and returns how that process ended.
int status_of(const std::function<int()>& part) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(part());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

/// As on Linux before 6.13, where guard pages take maps.
bool without_guard_regions() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 102, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

long maps() {
  std::ifstream file("/proc/self/maps");
  long count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

TEST_CASE("stacks leave half of a process's maps") {
  long most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  if (most > 300'000) {
    MESSAGE("skipped: this system allows too many maps for a test");
    return;
  }
  const int status = status_of([&] {
    const long before = maps();
    if (!without_guard_regions()) return 77;
    std::vector<std::unique_ptr<FiberStacks>> stacks;
    try {
      for (;;) stacks.push_back(FiberStackPool::instance().borrow(1024, false));
    } catch (const std::bad_alloc&) {
      const long taken = maps() - before;
      const bool enough = stacks.size() >= static_cast<std::size_t>(most) / 4 / 1024;
      return !enough ? 2 : taken > most / 2 + 100 ? 3 : 0;
    }
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    MESSAGE("skipped: no seccomp here");
    return;
  }
  CHECK(status == 0);
}

#ifdef WEIR_FIBERS_ASAN
FiberContext thread_context;
FiberContext* fiber = nullptr;

TEST_CASE("what comes to lie where stacks were may be used, whatever the fibers left there") {
  auto stacks = std::make_unique<FiberStacks>(1);
  stacks->give_all_back();
  fiber = &stacks->take([] {
    weir::host::begin_fiber(thread_context);
    char array[100];
    std::memset(array, 0, sizeof(array));
    weir::host::switch_fiber(*fiber, thread_context, array[7] == 0);
  });
  void* const bottom = const_cast<void*>(fiber->bottom);
  const std::size_t size = fiber->size;
  weir::host::switch_fiber(thread_context, *fiber);
  CHECK(__asan_region_is_poisoned(bottom, size) != nullptr);
  stacks.reset();
  CHECK(__asan_region_is_poisoned(bottom, size) == nullptr);
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose own handlers come first
TEST_CASE("the handler of faults leaves a process what SIGSEGV did before") {
  const auto sent = [] {
    const weir::host::KernelSection kernel({});
    ::raise(SIGSEGV);
    return 0;
  };
  const int killed = status_of([&] {
    ::signal(SIGSEGV, SIG_DFL);
    return sent();
  });
  CHECK(WIFSIGNALED(killed));
  CHECK(WTERMSIG(killed) == SIGSEGV);
  CHECK(status_of([&] {
          ::signal(SIGSEGV, SIG_IGN);
          return sent() + sent();
        }) == 0);
  const int handled = status_of([&] {
    ::signal(SIGSEGV, [](int) { ::_exit(7); });
    return sent();
  });
  CHECK(WEXITSTATUS(handled) == 7);
}

std::byte signal_stack[65536];
bool is_kept = false;

TEST_CASE("a signal stack that a thread sets itself is left alone when the thread ends") {
  std::thread([] {
    struct Last {
      ~Last() {
        stack_t present{};
        is_kept = ::sigaltstack(nullptr, &present) == 0 && present.ss_sp == signal_stack;
      }
    };
    thread_local const Last last;  // made first, so that it ends last
    static_cast<void>(last);
    const weir::host::KernelSection kernel({});
    const stack_t own{signal_stack, 0, sizeof(signal_stack)};
    REQUIRE(::sigaltstack(&own, nullptr) == 0);
  }).join();
  CHECK(is_kept);
}
#endif

}  // namespace
