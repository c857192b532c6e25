// SPDX-License-Identifier: Apache-2.0
#include "mixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program.hpp"
#include "weir/weir.hpp"
#include "worker.hpp"

// Runs the cases of the mixture on many threads.

namespace stress {
namespace {

std::vector<Case> cases() {
  std::vector<Case> all = right_cases();
  const std::vector<Case> hard = hard_cases();
  all.insert(all.end(), hard.begin(), hard.end());
  return all;
}

bool is_chosen(const Device& device, const Case& one, const std::string& only) {
  const auto lacks = [&](Feature feature) { return !device.supports(feature); };
  if (std::any_of(one.needs.begin(), one.needs.end(), lacks) || !one.can_run(device)) return false;
  return only.empty() || ("," + only + ",").find("," + std::string(one.name) + ",") != std::string::npos;
}

}  // namespace

std::string mixture_cases() {
  std::string names;
  for (const Case& one : cases()) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

std::string run_mixture(const MixtureOptions& options) {
  using Clock = std::chrono::steady_clock;
  Shared shared(options.threads);
  std::vector<Case> chosen;
  for (const Case& one : cases()) {
    if (is_chosen(shared.device, one, options.only)) chosen.push_back(one);
  }
  if (chosen.empty())
    fail(options.seed, "none of the cases that " + shared.device.describe() + " can run is " + options.only);

  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t t = 0; t < options.threads; ++t) workers.push_back(std::make_unique<Worker>(shared, t, options.seed));
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> ended{0};
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&, w = worker.get()] {
      try {
        while (!stop) {
          const Case& one = chosen[w->below(static_cast<std::uint32_t>(chosen.size()))];
          w->now = one.name;
          one.run(*w);
          ++w->done;
        }
        w->now = "end";
        w->s2->synchronize();
        w->check_sum();
      } catch (const std::exception& e) {
        fail(options.seed, "in '" + std::string(w->now.load()) + "': " + e.what());
      }
      ++ended;
    });
  }

  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  std::vector<std::pair<std::uint64_t, Clock::time_point>> seen(workers.size(), {0, Clock::now()});
  while (ended < options.threads) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (Clock::now() >= end) stop = true;
    for (std::size_t t = 0; t < workers.size(); ++t) {
      const std::uint64_t done = workers[t]->done;
      if (done != seen[t].first) seen[t] = {done, Clock::now()};
      if (ended < options.threads && Clock::now() - seen[t].second > std::chrono::minutes(1))
        fail(options.seed, "a thread has been in '" + std::string(workers[t]->now.load()) + "' for a minute");
    }
  }
  for (std::thread& thread : threads) thread.join();

  const std::uint32_t counted = workers[0]->s->read(shared.counter)[0];
  if (counted != shared.counted) {
    fail(options.seed, "the shared graph's kernels ran " + std::to_string(counted) + " times instead of " +
                           std::to_string(shared.counted));
  }
  const std::uint64_t done = std::accumulate(workers.begin(), workers.end(), std::uint64_t{0},
                                             [](std::uint64_t n, const auto& w) { return n + w->done; });
  return std::to_string(done) + " operations of " + std::to_string(chosen.size()) + " kinds on " + shared.device.describe() +
         " from " + std::to_string(options.threads) + " threads";
}

}  // namespace stress
