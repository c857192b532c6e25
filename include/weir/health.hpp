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

/// Diagnosis of hangs and faults: the operation that a stream waits for, and the state of a device. See docs/health.md.
namespace weir {

/// Describes the first operation of a stream that is not done. `Stream::synchronize` would wait for it.
struct PendingWork {
  /// The kind of an operation.
  enum class Kind : std::uint8_t {
    nothing,        ///< all work is done
    unknown,        ///< work is pending, but Weir cannot identify it: see docs/health.md
    kernel,         ///< `subject`: the kernel's name
    memory,         ///< a copy, a fill, a written value or a free; `subject`: a description
    host_function,  ///< a host function or callback that runs or has not started; `name`: its name, if known; on the CPU
                    ///< `subject`: "which runs" or "which waits for its turn"
    stream,  ///< a wait for another stream, or for an event recorded on it; `subject`: that other stream
    value,   ///< a wait for a value in memory; `wait`: address and condition; on the CPU `subject`: the present value, "now
             ///< it is 0"
    graph,   ///< a launch of a graph; on the CPU `subject`: "node 3, kernel 'scale'"
    other,   ///< other work; `subject`: the name that the program gave to `external_work`
  };

  Kind kind = Kind::nothing;  ///< determines the meaning of the other members
  /// A description of the operation or its object: "scale", "cuda:0 stream 0x55…", "Stream::copy of 4096 bytes". May be
  /// empty.
  std::string subject{};
  std::string name{};  ///< the name of a host function, if known
  MemoryOperation wait{};  ///< for `Kind::value`: the wait's address and condition
  std::size_t behind = 0;  ///< the number of later operations on the stream, if known
  /// The chain of waits that begins at this operation, one text for each stream, as far as it is known: the operation waits
  /// for a stream, which waits for another stream, and so on. "host:0 stream 0x55… would write that value, and is at a
  /// wait for host:0 stream 0x66…"
  std::vector<std::string> chain{};

  /// Returns all of this as text: the operation ("kernel 'scale'"), the number of later operations, and a line for each
  /// element of `chain`.
  WEIR_API std::string describe() const;
};

/// An operation that was not known to be done when its device failed.
struct Suspect {
  std::string stream;  ///< a description of its stream: "cuda:0 stream 0x55…"
  PendingWork work;    ///< the operation
};

/// The state of a device. See `Device::health`.
struct DeviceHealth {
  /// The first error of a poisoned device; empty for a device that is usable.
  std::optional<Error> error;
  /// For a poisoned device, with WEIR_JOURNAL: the last operations of each stream that had work, oldest first.
  std::vector<Suspect> suspects;

  /// Whether the device is usable.
  bool is_ok() const noexcept { return !error; }
  /// Returns "ok", or the error followed by a line for each suspect.
  WEIR_API std::string describe() const;
};

}  // namespace weir
