// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "stopwatch.hpp"

namespace entropy {

Progress::Progress(std::string label, const std::atomic<std::uint64_t>& done, std::uint64_t total)
    : label_(std::move(label)), done_(done), total_(total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    const Stopwatch time;
    std::mutex mutex;
    std::condition_variable_any end;
    std::unique_lock lock(mutex);
    bool shown = false;
    auto pause = std::chrono::milliseconds(500);
    while (!end.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
      show(time.seconds());
      shown = true;
      pause = std::chrono::milliseconds(100);
    }
    if (shown) fmt::print(stderr, "\r\x1b[K");
  });
}

Progress::~Progress() = default;

void Progress::show(double seconds) const {
  constexpr std::size_t width = 30;
  const auto done = static_cast<double>(done_.load(std::memory_order_relaxed));
  const double share = std::min(1.0, done / static_cast<double>(total_));
  std::string bar;
  for (std::size_t i = 0; i < width; ++i) {
    bar += static_cast<double>(i) < share * static_cast<double>(width) ? "█" : "░";
  }
  std::string left;
  if (done > 0) left = fmt::format("  {:.0f} s left", seconds * (static_cast<double>(total_) - done) / done);
  fmt::print(stderr, "\r{} {} {:3.0f} %  {:.2f} GB/s{}\x1b[K", label_, bar, 100 * share, done / seconds / 1e9, left);
  std::fflush(stderr);
}

}  // namespace entropy
