// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <new>

#include "backends/gpu/capture.hpp"
#include "backends/hip/api_private.hpp"
#include "weir/backend_support.hpp"

namespace weir::hip {

using namespace std::chrono_literals;

Retirement& Retirement::instance() {
  static auto* const retirement = new Retirement;
  return *retirement;
}

void Retirement::retire(const Api& api, int device, UniqueFunction<bool()>&& try_to_end) noexcept {
  auto* const kept = new (std::nothrow) Retired{&api, device, std::move(try_to_end)};
  if (kept == nullptr) return;
  try {
    add(std::move(*kept));
    delete kept;
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "hip: what cannot end yet is leaked: ", e.what());  // with `kept`
  }
}

void Retirement::add(Retired&& retired) {
  const std::lock_guard lock(mutex_);
  retired_.reserve(retired_.size() + 1);
  if (!thread_) {
    process_ = ::getpid();
    const support::SignalsBlocked no_signals;
    thread_ = std::make_unique<std::thread>([this] { run(); });
    // Handlers run in the reverse order of their registration, and the runtime's was registered when it was opened.
    std::atexit(&Retirement::stop_at_exit);
  }
  retired_.push_back(std::move(retired));
  changed_.notify_one();
}

void Retirement::run() {
  constexpr auto shortest = 100us, longest = std::chrono::microseconds(5ms);
  auto nap = shortest;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !retired_.empty(); });
  if (stopping_) return;
  // So that captures of other threads do not forbid this thread's questions.
  const gpu::CaptureModeScope<Api> relaxed(*retired_.front().api);
  while (!stopping_) {
    if (retired_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || !retired_.empty(); });
      nap = shortest;
      continue;
    }
    std::vector<Retired> round = std::exchange(retired_, {});
    lock.unlock();
    const std::size_t before = round.size();
    std::erase_if(round, [](Retired& retired) {
      const int device = mutated(Mutation::retired_on_another_device) ? 0 : retired.device;
      return retired.api->SetDevice(device) == hipSuccess && retired.try_to_end();
    });
    nap = round.size() < before ? shortest : std::min(nap * 2, longest);
    lock.lock();
    std::move(round.begin(), round.end(), std::back_inserter(retired_));
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

// --- What is destroyed there ------------------------------------------------------------------------------------------

namespace {

// The work is not over, or a capture of some thread forbids the question.
bool is_put_off(hipError_t result) noexcept {
  return result == hipErrorNotReady ||
         (result >= hipErrorStreamCaptureUnsupported && result <= hipErrorStreamCaptureWrongThread);
}

bool is_ahead(const Api& api, hipEvent_t event) { return is_put_off(api.query_event(event)); }

int current_device(const Api& api) noexcept {
  int device = 0;
  (void)api.GetDevice(&device);
  return device;
}

}  // namespace

Api::Result Api::StreamDestroy(StreamHandle stream) const {
  if (has(Workaround::end_streams_elsewhere)) {
    const gpu::CaptureModeScope<Api> relaxed(*this);
    if (is_put_off(StreamQuery(stream))) {
      Retirement::instance().retire(*this, current_device(*this), [this, stream] {
        if (is_put_off(StreamQuery(stream))) return false;
        gpu::log_failure(*this, Symbols::StreamDestroy(stream), "while a stream was destroyed", "hip");
        return true;
      });
      return success;
    }
  }
  return Symbols::StreamDestroy(stream);
}

void Api::end_behind(const DeviceContext& device, EventHandle event, UniqueFunction<void()>&& end) const noexcept {
  {
    const Current current(*this, device, std::nothrow);
    const gpu::CaptureModeScope<Api> relaxed(*this);
    if (!is_ahead(*this, event)) return end();
  }
  Retirement::instance().retire(*this, device.ordinal, [this, event, end = std::move(end)]() mutable {
    if (is_ahead(*this, event)) return false;
    end();
    return true;
  });
}

Api::Result Api::destroy_pool(PoolHandle pool) const {
  const Result result = MemPoolDestroy(pool);
  if (!is_put_off(result) || !has(Workaround::retry_pool_ends)) return result;
  Retirement::instance().retire(*this, current_device(*this), [this, pool] {
    const Result again = MemPoolDestroy(pool);
    if (is_put_off(again)) return false;
    gpu::log_failure(*this, again, "while a memory pool was destroyed", "hip");
    return true;
  });
  return success;
}

}  // namespace weir::hip
