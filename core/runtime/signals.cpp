// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>

#include "weir/plugin/support.hpp"

// Blocks signals in Weir's own threads.
namespace weir::support {
namespace {

sigset_t signals_to_block() noexcept {
  sigset_t set;
  sigfillset(&set);
  // If a thread blocked the signals of its own faults, their handlers would not run. SIGPROF stays enabled so that profilers
  // also sample these threads.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) sigdelset(&set, signal);
  return set;
}

}  // namespace

void block_signals() noexcept {
  const sigset_t set = signals_to_block();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalsBlocked::SignalsBlocked() noexcept {
  const sigset_t set = signals_to_block();
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace weir::support
