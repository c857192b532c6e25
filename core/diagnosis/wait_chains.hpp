// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/plugin/waits.hpp"

/// `WaitChains`: follows waits from stream to stream, to find the cause of a hang.
namespace weir::detail {

/// A snapshot of all streams with pending work, on all devices, as far as the backends and the journal report them.
class WaitChains {
 public:
  WaitChains();

  const std::vector<BusyStream>& streams() const noexcept { return streams_; }
  /// The chain of waits that begins at `stream`, in the form of `PendingWork::chain`. Appends the streams in the chain to
  /// `passed`, if it is not null.
  std::vector<std::string> chain_of(const StreamKey& stream, std::vector<StreamKey>* passed = nullptr) const;
  /// Whether there are streams with pending work and none of them can continue without an action of the program.
  bool all_wait() const noexcept;
  /// Lists all streams and what each waits for, in lines that are indented by two spaces.
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
