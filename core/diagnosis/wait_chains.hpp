// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/plugin/waits.hpp"

/// What streams wait for in turn.
namespace weir::detail {

/// The streams that have work at one moment, of all devices, as far as backends and the journal know them.
class WaitChains {
 public:
  WaitChains();

  const std::vector<BusyStream>& streams() const noexcept { return streams_; }
  /// What the stream waits for in turn: `PendingWork::chain`. `passed`: gets the streams that it leads through.
  std::vector<std::string> chain_of(const StreamKey& stream, std::vector<StreamKey>* passed = nullptr) const;
  /// Whether there is work, and none of it can go on but by a function of the program's.
  bool all_wait() const noexcept;
  /// All streams with what they wait for, lines that are indented by two.
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
