// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "backends/gpu/capture.hpp"
#include "backends/hip/api_private.hpp"
#include "weir/backend_support.hpp"

namespace weir::hip {

using namespace std::chrono_literals;

Retirement& Retirement::instance() {
  static auto* const retirement = new Retirement;
  return *retirement;
}

void Retirement::retire(const Api& api, hipStream_t stream) {
  Retired retired{&api, 0, stream, nullptr, nullptr};
  api.GetDevice(&retired.device);
  add(retired);
}

void Retirement::retire(const Api& api, hipGraphExec_t exec, hipEvent_t last_launch) {
  Retired retired{&api, 0, nullptr, exec, last_launch};
  api.GetDevice(&retired.device);
  add(retired);
}

void Retirement::add(const Retired& retired) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  retired_.push_back(retired);
  if (!thread_) {
    process_ = ::getpid();
    const support::SignalsBlocked no_signals;
    thread_ = std::make_unique<std::thread>([this] { run(); });
    // Handlers run in the reverse order of their registration, and the runtime's was registered when it was opened.
    std::atexit(&Retirement::stop_at_exit);
  }
  changed_.notify_one();
}

bool Retirement::try_to_end(const Retired& retired) {
  const Api& api = *retired.api;
  if (api.SetDevice(retired.device) != hipSuccess) return true;
  if (retired.stream != nullptr) {
    if (api.StreamQuery(retired.stream) == hipErrorNotReady) return false;
    gpu::log_failure(api, api.Symbols::StreamDestroy(retired.stream), "while a stream was destroyed", "hip");
    return true;
  }
  if (api.EventQuery(retired.last_launch) == hipErrorNotReady) return false;
  gpu::log_failure(api, api.Symbols::GraphExecDestroy(retired.exec), "while an executable graph was destroyed", "hip");
  api.EventDestroy(retired.last_launch);
  return true;
}

void Retirement::run() {
  constexpr auto shortest = 100us, longest = std::chrono::microseconds(5ms);
  auto nap = shortest;
  std::unique_lock lock(mutex_);
  // No capture of any thread is to forbid what this one asks.
  const gpu::CaptureModeScope<Api> relaxed(*retired_.front().api);
  while (!stopping_) {
    if (retired_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || !retired_.empty(); });
      nap = shortest;
      continue;
    }
    std::vector<Retired> round = std::move(retired_);
    retired_.clear();
    lock.unlock();
    const std::size_t before = round.size();
    std::erase_if(round, &Retirement::try_to_end);
    nap = round.size() < before ? shortest : std::min(nap * 2, longest);
    lock.lock();
    retired_.insert(retired_.end(), round.begin(), round.end());
    if (!retired_.empty()) changed_.wait_for(lock, nap, [this] { return stopping_; });
  }
}

void Retirement::stop_at_exit() {
  Retirement& self = instance();
  if (self.process_ != ::getpid()) return;  // a forked child has no such thread
  {
    const std::lock_guard lock(self.mutex_);
    self.stopping_ = true;
  }
  self.changed_.notify_one();
  self.thread_->join();
}

// --- Streams ----------------------------------------------------------------------------------------------------------

Api::Result Api::StreamDestroy(StreamHandle stream) const {
  if (workarounds_.end_streams_elsewhere) {
    const gpu::CaptureModeScope<Api> relaxed(*this);
    if (StreamQuery(stream) == hipErrorNotReady) {
      Retirement::instance().retire(*this, stream);
      return success;
    }
  }
  return Symbols::StreamDestroy(stream);
}

// --- Executable graphs ------------------------------------------------------------------------------------------------

void Api::Executables::launched(const Api& api, hipGraphExec_t exec, hipStream_t stream) {
  const std::lock_guard lock(mutex_);
  hipEvent_t& event = last_launches_[exec];
  if (event == nullptr && api.EventCreate(&event, hipEventDisableTiming) != hipSuccess) return;
  gpu::log_failure(api, api.EventRecord(event, stream), "while a launch was noted", "hip");
}

hipEvent_t Api::Executables::forget(hipGraphExec_t exec) {
  const std::lock_guard lock(mutex_);
  const auto found = last_launches_.find(exec);
  if (found == last_launches_.end()) return nullptr;
  const hipEvent_t event = found->second;
  last_launches_.erase(found);
  return event;
}

Api::Result Api::GraphLaunch(GraphExecHandle exec, StreamHandle stream) const {
  const Result result = Symbols::GraphLaunch(exec, stream);
  if (result == success && workarounds_.hold_running_executables) executables_->launched(*this, exec, stream);
  return result;
}

Api::Result Api::GraphExecDestroy(GraphExecHandle exec) const {
  if (workarounds_.hold_running_executables) {
    if (const hipEvent_t last_launch = executables_->forget(exec); last_launch != nullptr) {
      if (EventQuery(last_launch) == hipErrorNotReady) {
        Retirement::instance().retire(*this, exec, last_launch);
        return success;
      }
      EventDestroy(last_launch);
    }
  }
  return Symbols::GraphExecDestroy(exec);
}

}  // namespace weir::hip
