// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "tools/model/scrambled.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/version.hpp"

/// Delays streams of GPUs at random, so that missing waits cause visible errors. For the host backend, WEIR_SCHEDULE does
/// this.
namespace weir::shake {
namespace {

using model::scrambled;

class Shake final : public Tool {
 public:
  explicit Shake(std::uint64_t seed) : seed_(seed) {}

  void before(const Operation& operation) override {
    // A delay of the legacy default stream would delay all other streams. A host function must not call Weir.
    if (!traits_of(operation.kind).is_work || operation.stream == nullptr || operation.capture != 0 ||
        operation.host_function != 0 || operation.stream->kind() == StreamKind::legacy_default ||
        operation.device->backend().name() == "host" || !operation.device->supports(Feature::host_functions)) {
      return;
    }
    const std::chrono::microseconds pause = draw(operation.stream_key);
    if (pause.count() == 0) return;
    try {
      const_cast<Stream*>(operation.stream)->launch_host_function([pause] { std::this_thread::sleep_for(pause); });
    } catch (const Error&) {
      // Ignored: the operation itself will report the error of the stream.
    }
  }

 private:
  struct Drawn {
    std::uint64_t stream;      // the stream's number, in the order of first use
    std::uint64_t operations;  // number of operations so far
  };

  // Returns the delay of the stream's next operation. The result depends only on the seed, the stream's number and the
  // operation's number. Threads affect only the order in which streams get their numbers.
  std::chrono::microseconds draw(const StreamKey& key) {
    const std::lock_guard lock(mutex_);
    Drawn& drawn = streams_.try_emplace(key, Drawn{streams_.size(), 0}).first->second;
    const std::uint64_t of_stream = scrambled(scrambled(seed_) + drawn.stream);
    const std::uint64_t lot = scrambled(of_stream + ++drawn.operations);
    // One third of the streams is never delayed, one third before every second operation on average, one third rarely.
    const std::uint64_t one_in = of_stream % 3 == 0 ? 0 : of_stream % 3 == 1 ? 2 : 8;
    if (one_in == 0 || lot % one_in != 0) return std::chrono::microseconds(0);
    return std::chrono::microseconds(100 + (lot >> 8U) % 1900);
  }

  const std::uint64_t seed_;
  std::mutex mutex_;
  std::map<StreamKey, Drawn> streams_;
};

Tool* create() {
  if (const auto schedule = support::environment("WEIR_SCHEDULE"); schedule && schedule->starts_with("pct:")) {
    throw Error(Errc::invalid_environment, "reading WEIR_SCHEDULE='" + *schedule + "'", "",
                "the tool shake accepts only a seed, because it delays streams of GPUs and chooses no order; schedules by "
                "priority are part of the host backend and need no tool: set a whole number, or omit the tool");
  }
  return new Shake(
      static_cast<std::uint64_t>(support::environment_number("WEIR_SCHEDULE", 1, 1, std::numeric_limits<long>::max())));
}

}  // namespace
}  // namespace weir::shake

WEIR_TOOL("shake", WEIR_VERSION_STRING, weir::shake::create)
