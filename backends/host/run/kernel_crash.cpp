// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/kernel_crash.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "backends/host/run/address_sanitizer.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

// The model is initial-exec, because the signal handler may run on a thread on which this library's thread-local memory is
// not allocated yet, and must not allocate it.
__attribute__((tls_model("initial-exec"))) thread_local KernelSection* section = nullptr;
// Lowest byte of the thread's own stack.
__attribute__((tls_model("initial-exec"))) thread_local const std::byte* thread_stack = nullptr;

constexpr int signals[] = {
    SIGSEGV, SIGBUS, SIGFPE, SIGILL,
#if defined(__aarch64__)
    SIGTRAP  // raised by __builtin_trap
#endif
};
struct sigaction previous[std::size(signals)];

// The address of the interrupted instruction.
const std::byte* code_of(const void* context) noexcept {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const std::byte*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const std::byte*>(machine.pc);
#endif
}

// The return address of the interrupted function, if that function has no stack frame yet.
const std::byte* caller_of(const void* context) noexcept {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return *reinterpret_cast<const std::byte* const*>(machine.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const std::byte*>(machine.regs[30]);
#endif
}

KernelCrash::Cause cause_of(const siginfo_t& info) noexcept {
  using enum KernelCrash::Cause;
  switch (info.si_signo) {
    case SIGSEGV: return info.si_code == SEGV_MAPERR || info.si_code == SEGV_ACCERR ? address : no_address;
    case SIGBUS: return alignment;
    case SIGFPE: return quotient;
    default: return instruction;
  }
}

void pass_on(int signal, siginfo_t* info, void* context) {
  struct sigaction& before = previous[std::find(std::begin(signals), std::end(signals), signal) - signals];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else if (const bool was_sent = info->si_code <= 0; before.sa_handler == SIG_DFL || !was_sent) {
    ::sigaction(signal, &before, nullptr);  // the instruction runs again and fails under the former handler
    if (was_sent) ::raise(signal);
  }
}

void handle(int signal, siginfo_t* info, void* context) {
  if (section != nullptr && info->si_code > 0) {  // raised by this thread's own code, not sent by a process
    if (const auto crash = section->crash_of(*info, context)) section->leave(*crash);
  }
  pass_on(signal, info, context);
}

void install_handlers() {
  struct sigaction mine {};
  mine.sa_sigaction = &handle;
  // SA_NODEFER, because the handler may be left by a jump and would then leave the signal blocked.
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (std::size_t i = 0; i < std::size(signals); ++i) ::sigaction(signals[i], &mine, &previous[i]);
}

/// Gives the calling thread an alternate signal stack, because the handler cannot run on a stack that has overflowed.
class SignalStack {
 public:
  SignalStack() {
    stack_t present{};
    if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    memory_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t mine{memory_, 0, size};
    if (memory_ != MAP_FAILED) ::sigaltstack(&mine, nullptr);
  }
  ~SignalStack() {
    stack_t present{};
    const bool is_used = ::sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_;
    const stack_t none{nullptr, SS_DISABLE, 0};
    if (is_used) ::sigaltstack(&none, nullptr);
    if (memory_ != MAP_FAILED) ::munmap(memory_, size);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t size = std::size_t{64} << 10U;
  void* memory_ = MAP_FAILED;
};

const std::byte* lowest_of_thread_stack() noexcept {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return nullptr;
  ::pthread_attr_getstack(&attributes, &lowest, &size);
  ::pthread_attr_destroy(&attributes);
  return static_cast<const std::byte*>(lowest);
}

void watch_this_thread() {
  alignas(64) thread_local const SignalStack stack;
  static_cast<void>(stack);
  thread_stack = lowest_of_thread_stack();
  static const bool installed = (install_handlers(), true);
  static_cast<void>(installed);
}

}  // namespace

bool handles_signals() {
  static const bool handles = support::environment_number("WEIR_HOST_SIGNALS", 1, 0, 1) != 0 &&
                              !has_address_sanitizer() &&
                              ::dlsym(RTLD_DEFAULT, "__tsan_init") == nullptr;
  return handles;
}

KernelSection::KernelSection(std::span<const std::byte> code) : code_(code) {
  if (thread_stack == nullptr && handles_signals()) watch_this_thread();
  section = this;
}

KernelSection::~KernelSection() { section = nullptr; }

KernelSection& KernelSection::current() noexcept { return *section; }

void KernelSection::run(RunBlocks blocks, const BlockRange& range, const void* const* arguments) {
  if (sigsetjmp(begin_, 0) == 0) blocks(range, arguments);
}

void KernelSection::leave(const KernelCrash& crash) noexcept {
  crash_ = crash;
  if (fibers_ != nullptr) fibers_->leave_crashed();
  siglongjmp(begin_, 1);
}

std::optional<KernelCrash> KernelSection::crash_of(const siginfo_t& info, const void* context) const noexcept {
  const auto* const address = static_cast<const std::byte*>(info.si_addr);
  constexpr std::ptrdiff_t guard = 4096;
  const bool overflow =
      info.si_signo == SIGSEGV &&
      (fibers_ != nullptr ? fibers_->overflowed(address) : address < thread_stack && address >= thread_stack - guard);
  const std::byte* code = code_of(context);
  // If the fault is not in the module's code, looks at the caller; this also handles a call through a null pointer.
  if (!overflow && !is_code(code)) code = caller_of(context) - 1;
  if (is_code(code)) {
    return KernelCrash{.cause = overflow ? KernelCrash::Cause::stack : cause_of(info), .code = code, .address = address};
  }
  if (overflow) {
    constexpr std::string_view text = "weir error: a kernel's thread ran out of stack in a function of a library\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  return std::nullopt;
}

}  // namespace weir::host
