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

/// Structures of a backend's report about its streams' waits, for the diagnosis of hangs. See docs/health.md.
namespace weir {

/// One condition that the first pending operation of a stream waits for.
struct Awaited {
  std::string what;                      ///< a description: "a wait for the value at 0x… (32 bits) to be 1, now it is 0"
  std::optional<StreamKey> stream;       ///< the stream that the operation waits for; or empty
  std::optional<MemoryOperation> value;  ///< the value that the operation waits for; or empty
};

/// A stream with pending work.
struct BusyStream {
  StreamKey key;
  PendingWork first;             ///< the first operation that is not done
  std::vector<Awaited> awaited;  ///< all conditions that the operation waits for; empty if it runs or is ready to run
  bool calls_program = false;    ///< the operation is a running host function; Weir cannot see its waits
  std::string name{};            ///< a description such as "host:0 default stream"; empty if the stream is described by its
                                 ///< key
};

/// An enqueued operation that may write a value for which a stream waits.
struct ValueWriter {
  StreamKey stream;
  std::size_t behind = 0;  ///< the number of earlier operations on the same stream that are not done
  std::string what;        ///< a description: "a written value", "kernel 'set', which gets the address"
};

namespace support {

/// Whether `value` satisfies the condition of `wait`.
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

/// A function of a library, such as collectives, that makes streams wait for values in memory. It describes why a stream
/// waits for the value at `word`: "all_reduce of 4 float of rank 0 waits for rank 1". It returns "" if the library does not
/// use this address.
using DescribeWait = std::string (*)(const void* word);
/// Registers a function that `Stream::pending` and the command `weir stuck` call on any thread, without holding locks, until
/// the process ends. Throws std::bad_alloc.
WEIR_API void add_wait_description(DescribeWait describe);

}  // namespace support
}  // namespace weir
