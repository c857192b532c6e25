// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "weir/export.hpp"
#include "weir/health.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/stream_memory.hpp"

/// What streams wait for. See docs/health.md.
namespace weir {

/// One thing that a stream's first operation waits for.
struct Awaited {
  std::string what;                      ///< "a wait for the value at 0x… (32 bits) to be 1, now it is 0"
  std::optional<StreamKey> stream;       ///< it waits for this stream,
  std::optional<MemoryOperation> value;  ///< or for this value
};

/// A stream that has work.
struct BusyStream {
  StreamKey key;
  PendingWork first;             ///< the first operation that is not done
  std::vector<Awaited> awaited;  ///< everything that it waits for; empty if it runs, or could
  bool calls_program = false;    ///< a function of the program runs; its own waits are unknown
  std::string name{};            ///< only if it is not "host:0 stream 0x55…": "host:0 default stream"
};

/// An enqueued operation that writes an awaited value, or may.
struct ValueWriter {
  StreamKey stream;
  std::size_t behind = 0;  ///< how many operations of the stream come before it, including the present one
  std::string what;        ///< "a written value", "kernel 'set', which gets the address"
};

namespace support {

/// Whether that value would end the wait.
inline bool would_end(const MemoryOperation& wait, std::uint64_t value) noexcept {
  const auto ends = [&]<class T>(T now, T wanted) {
    switch (wait.condition) {
      case WaitCondition::geq: return static_cast<std::make_signed_t<T>>(static_cast<T>(now - wanted)) >= 0;
      case WaitCondition::eq: return now == wanted;
      case WaitCondition::bit_and: return (now & wanted) != 0;
      case WaitCondition::bit_nor: return static_cast<T>(~(now | wanted)) != 0;
    }
    return false;
  };
  return wait.is_64() ? ends(value, wait.value)
                      : ends(static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(wait.value));
}

/// Describes the wait for a value at `word` by a library that makes streams wait: "all_reduce of 4 float of rank 0 waits for
/// rank 1". Returns "" if the library does not wait for that word.
using DescribeWait = std::string (*)(const void* word);
/// Registers the function; `Stream::pending` and `weir stuck` call it, on any thread and without locks, until the process
/// ends. Throws std::bad_alloc.
WEIR_API void add_wait_description(DescribeWait describe);

}  // namespace support
}  // namespace weir
