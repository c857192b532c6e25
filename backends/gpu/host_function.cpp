// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/host_function.hpp"

#include <new>
#include <string>
#include <utility>

#include "weir/backend_support.hpp"

namespace weir::gpu {
namespace {

FreeList<HostCalls>& pool() {
  static auto* const list = new FreeList<HostCalls>;  // driver threads may outlive main
  return *list;
}

void log_current() noexcept {
  try {
    try {
      throw;
    } catch (const std::exception& e) {
      support::log(support::LogLevel::error, std::string("a host function threw: ") + e.what());
    } catch (...) {
      support::log(support::LogLevel::error, "a host function threw what is no std::exception");
    }
  } catch (const std::exception&) {
    // No memory for the message; the exception itself is kept.
  }
}

}  // namespace

HostErrors::~HostErrors() {
  for (Node* node = newest_.load(std::memory_order_relaxed); node != nullptr;) {
    Node* const older = node->older;
    delete node;
    node = older;
  }
}

void HostErrors::add_current() noexcept {
  log_current();
  auto* const node = new (std::nothrow) Node{std::current_exception(), nullptr};
  if (node == nullptr) return;
  node->older = newest_.load(std::memory_order_relaxed);
  while (!newest_.compare_exchange_weak(node->older, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

std::exception_ptr HostErrors::take() noexcept {
  if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  std::exception_ptr oldest;
  for (Node* node = newest_.exchange(nullptr, std::memory_order_acquire); node != nullptr;) {
    Node* const older = node->older;
    oldest = std::move(node->error);
    delete node;
    node = older;
  }
  return oldest;
}

// --- Enqueued functions -----------------------------------------------------------------------------------------------

HostCalls* HostCalls::take(const Ptr<HostErrors>& errors) {
  HostCalls* calls = pool().take();
  if (calls == nullptr) {
    calls = new HostCalls;
    pool().adopt(calls);
  }
  calls->errors_ = errors;
  return calls;
}

void* HostCalls::put(HostFunction&& function) {
  const std::lock_guard lock(mutex_);
  if (idle_ == nullptr) idle_ = finished_.exchange(nullptr, std::memory_order_acquire);
  Call* call = idle_;
  if (call != nullptr) {
    idle_ = call->next;
  } else {
    call = new Call{.owner = this, .function = {}};
  }
  ++put_;
  call->function = std::move(function);
  return call;
}

void HostCalls::take_back(void* call) noexcept {
  auto* const self = static_cast<Call*>(call);
  self->function.reset();
  finish(*self);
}

void HostCalls::run(void* call) noexcept {
  auto* const self = static_cast<Call*>(call);
  const support::HostFunctionScope scope;
  try {
    self->function();
  } catch (...) {
    self->owner->errors_->add_current();
  }
  self->function.reset();
  finish(*self);
}

void HostCalls::finish(Call& call) noexcept {
  HostCalls& owner = *call.owner;
  call.next = owner.finished_.load(std::memory_order_relaxed);
  while (!owner.finished_.compare_exchange_weak(call.next, &call, std::memory_order_release, std::memory_order_relaxed)) {
  }
  if (owner.over_.fetch_add(1, std::memory_order_acq_rel) == -1) [[unlikely]] owner.recycle();
}

void HostCalls::close() noexcept {
  // From the subtraction on, the driver's thread may give this to another stream.
  const std::int64_t put = std::exchange(put_, 0);
  if (over_.fetch_sub(put, std::memory_order_acq_rel) == put) recycle();
}

void HostCalls::recycle() noexcept {
  errors_.reset();
  pool().give_back(this);
}

// --- Captured functions -----------------------------------------------------------------------------------------------

void CapturedHostFunction::run(void* captured) noexcept {
  auto* const self = static_cast<CapturedHostFunction*>(captured);
  const support::HostFunctionScope scope;
  try {
    self->function();
  } catch (...) {
    self->errors->add_current();
  }
}

void CapturedHostFunction::destroy(void* captured) noexcept {
  // The driver may call this from a thread of its own, where what the function owns must not call the driver.
  const support::HostFunctionScope scope;
  delete static_cast<CapturedHostFunction*>(captured);
}

}  // namespace weir::gpu
