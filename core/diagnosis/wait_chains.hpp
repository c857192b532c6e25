// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/plugin/waits.hpp"

/// Follows chains of waits from stream to stream.
namespace weir::detail {

/// A snapshot of the streams that have work, on all devices, as far as backends and the journal report them.
class WaitChains {
 public:
  WaitChains();

  const std::vector<BusyStream>& streams() const noexcept { return streams_; }
  /// The chain of waits that begins at the stream: `PendingWork::chain`. `passed` receives the streams in the chain.
  std::vector<std::string> chain_of(const StreamKey& stream, std::vector<StreamKey>* passed = nullptr) const;
  /// Whether there is work, and all of it waits for something that only the program can do.
  bool all_wait() const noexcept;
  /// Lists all streams and what they wait for, in lines indented by two.
  std::string describe() const;

 private:
  struct Next {
    StreamKey stream;
    std::string line;
  };
  const BusyStream* find(const StreamKey& key) const noexcept;
  std::string name_of(const StreamKey& key) const;
  bool goes_on(const StreamKey& key) const noexcept;
  Next next_of(const Awaited& awaited) const;

  std::vector<BusyStream> streams_;
};

}  // namespace weir::detail
