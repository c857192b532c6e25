// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/error.hpp"
#include "weir/export.hpp"
#include "weir/stream_memory.hpp"

/// Reports what a stream waits for, and whether a device is still usable. See docs/health.md.
namespace weir {

/// The first operation of a stream that is not done, for which `Stream::synchronize` waits.
struct PendingWork {
  /// What kind of operation it is.
  enum class Kind : std::uint8_t {
    nothing,        ///< all work is done
    unknown,        ///< there is unknown work: see docs/health.md
    kernel,         ///< `subject`: its name
    memory,         ///< a copy, a fill, a written value, a free; `subject`: which
    host_function,  ///< a host function or callback that runs, or waits for its thread; `name`: its own, if known; on the
                    ///< CPU `subject`: "which runs", "which waits for its turn"
    stream,  ///< a wait for another stream, or for an event recorded there; `subject`: that stream
    value,   ///< a wait for a value in memory; `wait` has address and condition; on the CPU `subject`: "now it is 0"
    graph,   ///< a launch of a graph; on the CPU `subject`: "node 3, kernel 'scale'"
    other,   ///< `subject`: the program's name for it (`external_work`)
  };

  Kind kind = Kind::nothing;  ///< determines the meaning of the other members
  /// "scale", "cuda:0 stream 0x55…", "Stream::copy of 4096 bytes"; may be empty.
  std::string subject{};
  std::string name{};  ///< for a named host function that runs or is in the journal
  MemoryOperation wait{};  ///< for `Kind::value`
  std::size_t behind = 0;  ///< how many operations follow it on the stream, if known
  /// For `Kind::stream` and `Kind::value`, and work that waits for such: the further waits of the chain, one in each line,
  /// as far as known. "host:0 stream 0x55… would write that value, and is at a wait for host:0 stream 0x66…"
  std::vector<std::string> chain{};

  /// "kernel 'scale'", the number of later operations, and a line for each part of the chain.
  WEIR_API std::string describe() const;
};

/// An operation that was not known to be done when its device failed.
struct Suspect {
  std::string stream;  ///< "cuda:0 stream 0x55…"
  PendingWork work;    ///< the operation
};

/// The state of a device. See `Device::health`.
struct DeviceHealth {
  /// The first error of a poisoned device; empty for a device that is usable.
  std::optional<Error> error;
  /// For a poisoned device, with WEIR_JOURNAL: the last operations of each stream that had work, oldest first.
  std::vector<Suspect> suspects;

  /// Whether the device is usable, according to the driver.
  bool is_ok() const noexcept { return !error; }
  /// "ok", or the error and the suspects, one in each line.
  WEIR_API std::string describe() const;
};

}  // namespace weir
