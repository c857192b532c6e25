// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/host_function.hpp"

#include <string>

#include "weir/backend_support.hpp"

namespace weir::gpu {
namespace {

FreeList<HostCall>& calls() {
  static auto* const list = new FreeList<HostCall>;  // driver threads may outlive main
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

HostCall* HostCall::take(HostFunction&& function, const Ptr<HostErrors>& errors) {
  HostCall* call = calls().take();
  if (call == nullptr) {
    call = new HostCall;
    calls().adopt(call);
  }
  call->function = std::move(function);
  call->errors = errors;
  return call;
}

void HostCall::give_back() noexcept {
  function.reset();
  errors.reset();
  calls().give_back(this);
}

void HostCall::run(void* call) noexcept {
  auto* const self = static_cast<HostCall*>(call);
  const support::HostFunctionScope scope;
  try {
    self->function();
  } catch (...) {
    self->errors->add_current();
  }
  self->give_back();
}

// --- Captured functions -----------------------------------------------------------------------------------------------

void CapturedHostFunction::call(HostErrors& to) noexcept {
  const support::HostFunctionScope scope;
  try {
    function();
  } catch (...) {
    to.add_current();
  }
}

void CapturedHostFunction::run(void* captured) noexcept {
  auto* const self = static_cast<CapturedHostFunction*>(captured);
  self->call(*self->errors);
}

void CapturedHostFunction::destroy(void* captured) noexcept {
  // The driver may call this from a thread of its own, where what the function owns must not call the driver.
  const support::HostFunctionScope scope;
  delete static_cast<CapturedHostFunction*>(captured);
}

}  // namespace weir::gpu
