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

/// The exceptions of an executable graph's host functions. Each captured function stores its own exceptions, because it
/// cannot determine which launch runs it. So with several launches, or with several executables of one graph, the launch
/// that threw is unknown.
class GraphErrors final : public RefCounted {
 public:
  explicit GraphErrors(std::vector<Ptr<HostErrors>> functions) : functions_(std::move(functions)) {}
  /// Returns one exception and discards the others; null if there is none.
  std::exception_ptr take() const noexcept {
    std::exception_ptr taken;
    for (const Ptr<HostErrors>& errors : functions_) {
      if (auto error = errors->take()) taken = std::move(error);
    }
    return taken;
  }
  /// Whether no exception is stored, and no graph or running launch can call the functions any longer.
  bool is_over() const noexcept {
    return std::all_of(functions_.begin(), functions_.end(), [](const Ptr<HostErrors>& errors) {
      return errors->use_count() == 1 && errors->is_empty();
    });
  }

 private:
  const std::vector<Ptr<HostErrors>> functions_;
};

/// The executable graphs with host functions that one stream has launched. The stream's `synchronize` rethrows their
/// exceptions.
class LaunchedGraphs {
 public:
  /// Called before each launch. Allocates only on the stream's first launch of an executable.
  void add(const Ptr<GraphErrors>& errors) {
    const std::lock_guard lock(mutex_);
    if (const auto at = find(errors); at != launched_.end() && at->errors == errors) return;
    // Removes finished entries here as well, because some programs never synchronize the stream.
    if (launched_.size() >= looked_at_) {
      std::erase_if(launched_, [](const Entry& entry) { return entry.errors->use_count() == 1 && entry.errors->is_over(); });
      looked_at_ = 2 * launched_.size() + 16;
    }
    launched_.insert(find(errors), {errors, false});
    any_.store(true, std::memory_order_relaxed);
  }

  /// Called after the stream was synchronized. Returns one exception and discards the others; null if there is none.
  std::exception_ptr take() noexcept {
    if (!any_.load(std::memory_order_relaxed)) [[likely]] return nullptr;
    const std::lock_guard lock(mutex_);
    std::exception_ptr taken;
    for (const Entry& entry : launched_) {
      if (auto error = entry.errors->take()) taken = std::move(error);
    }
    // An executable that was destroyed before the previous call can have no running launch on this stream: its launches came
    // before that call, and the stream has been synchronized since. So its entry is removed.
    std::erase_if(launched_, [](const Entry& entry) { return entry.gone; });
    for (Entry& entry : launched_) entry.gone = entry.errors->use_count() == 1;
    return taken;
  }

 private:
  struct Entry {
    Ptr<GraphErrors> errors;
    bool gone;  // whether the executable was already destroyed at the previous `take`
  };
  std::vector<Entry>::iterator find(const Ptr<GraphErrors>& errors) noexcept {
    return std::lower_bound(launched_.begin(), launched_.end(), errors.get(),
                            [](const Entry& entry, const GraphErrors* wanted) { return entry.errors.get() < wanted; });
  }

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Entry> launched_;  // sorted by the address of `errors`
  std::size_t looked_at_ = 16;   // number of entries at which `add` removes finished ones
};

}  // namespace weir::gpu
