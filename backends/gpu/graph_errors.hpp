// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/gpu/host_function.hpp"
#include "weir/ptr.hpp"

namespace weir::gpu {

/// The exceptions of the host functions of an executable graph. Each captured function stores its own, because it cannot
/// determine the launch that runs it. With several launches, or several executables of one graph, it is unknown which one
/// threw.
class GraphErrors final : public RefCounted {
 public:
  explicit GraphErrors(std::vector<Ptr<HostErrors>> functions) : functions_(std::move(functions)) {}
  /// Takes one exception and drops the others; null without one.
  std::exception_ptr take() const noexcept {
    std::exception_ptr taken;
    for (const Ptr<HostErrors>& errors : functions_) {
      if (auto error = errors->take()) taken = std::move(error);
    }
    return taken;
  }
  /// Whether there is no exception, and no graph or running launch can call the functions any longer.
  bool is_over() const noexcept {
    return std::all_of(functions_.begin(), functions_.end(), [](const Ptr<HostErrors>& errors) {
      return errors->use_count() == 1 && errors->is_empty();
    });
  }

 private:
  const std::vector<Ptr<HostErrors>> functions_;
};

/// The executable graphs with host functions that a stream has launched. The stream's `synchronize` rethrows their
/// exceptions.
class LaunchedGraphs {
 public:
  /// Called before a launch. Allocates on the stream's first launch of an executable.
  void add(const Ptr<GraphErrors>& errors) {
    const std::lock_guard lock(mutex_);
    if (const auto at = find(errors); at != launched_.end() && at->errors == errors) return;
    // Removes finished entries, for programs that never synchronize the stream.
    if (launched_.size() >= looked_at_) {
      std::erase_if(launched_, [](const Entry& entry) { return entry.errors->use_count() == 1 && entry.errors->is_over(); });
      looked_at_ = 2 * launched_.size() + 16;
    }
    launched_.insert(find(errors), {errors, false});
    any_.store(true, std::memory_order_relaxed);
  }

  /// Called after a synchronize of the stream. Takes one exception and drops the others; null without one.
  std::exception_ptr take() noexcept {
    if (!any_.load(std::memory_order_relaxed)) [[likely]] return nullptr;
    const std::lock_guard lock(mutex_);
    std::exception_ptr taken;
    for (const Entry& entry : launched_) {
      if (auto error = entry.errors->take()) taken = std::move(error);
    }
    // An executable that was already destroyed at the last call was launched before it, and the stream has been synchronized
    // since.
    std::erase_if(launched_, [](const Entry& entry) { return entry.gone; });
    for (Entry& entry : launched_) entry.gone = entry.errors->use_count() == 1;
    return taken;
  }

 private:
  struct Entry {
    Ptr<GraphErrors> errors;
    bool gone;  // the executable was destroyed when last checked
  };
  std::vector<Entry>::iterator find(const Ptr<GraphErrors>& errors) noexcept {
    return std::lower_bound(launched_.begin(), launched_.end(), errors.get(),
                            [](const Entry& entry, const GraphErrors* wanted) { return entry.errors.get() < wanted; });
  }

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Entry> launched_;  // by address
  std::size_t looked_at_ = 16;   // size that triggers the next removal of finished entries
};

}  // namespace weir::gpu
