// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Types for batches of copies, and for operations that write values to memory or wait for values in stream order
/// (cuStreamWriteValue32, cuStreamWaitValue32).
namespace weir {

/// One copy of a batch: see `Stream::copy_batch`.
struct BatchCopy {
  void* destination = nullptr;
  const void* source = nullptr;
  std::size_t bytes = 0;
};

/// When a batch may read its sources (CUmemcpySrcAccessOrder).
enum class SourceAccess : std::uint8_t {
  in_stream_order,  ///< after the stream's earlier work is done
  any_time,         ///< at any time after the call; the program promises that no earlier work of the stream writes the
                    ///< sources
};

/// The condition that ends a wait. `m` is the value in memory, `v` the value passed to the call.
enum class WaitCondition : std::uint8_t {
  geq,      ///< m - v, as a signed number, is not negative: a cyclic comparison, so counters may wrap
  eq,       ///< m == v
  bit_and,  ///< (m & v) != 0
  bit_nor,  ///< ~(m | v) != 0
};

/// Whether earlier remote writes become visible when a wait ends (CU_STREAM_WAIT_VALUE_FLUSH).
enum class RemoteWrites : std::uint8_t { no_flush, flush };

/// One operation of a batch. Addresses are device addresses, aligned to the size of the value.
struct MemoryOperation {
  /// The kind of the operation.
  enum class Kind : std::uint8_t { write_32, write_64, wait_32, wait_64, flush_remote_writes };

  Kind kind;
  WaitCondition condition = WaitCondition::geq;
  RemoteWrites remote_writes = RemoteWrites::no_flush;
  void* address = nullptr;
  std::uint64_t value = 0;

  /// Returns an operation that writes a value.
  static MemoryOperation write(std::uint32_t* address, std::uint32_t value) noexcept {
    return {Kind::write_32, {}, {}, address, value};
  }
  static MemoryOperation write(std::uint64_t* address, std::uint64_t value) noexcept {
    return {Kind::write_64, {}, {}, address, value};
  }
  /// Returns an operation that waits until the value in memory satisfies the condition.
  static MemoryOperation wait(const std::uint32_t* address, std::uint32_t value,
                              WaitCondition condition = WaitCondition::geq,
                              RemoteWrites remote = RemoteWrites::no_flush) noexcept {
    return {Kind::wait_32, condition, remote, const_cast<std::uint32_t*>(address), value};
  }
  static MemoryOperation wait(const std::uint64_t* address, std::uint64_t value,
                              WaitCondition condition = WaitCondition::geq,
                              RemoteWrites remote = RemoteWrites::no_flush) noexcept {
    return {Kind::wait_64, condition, remote, const_cast<std::uint64_t*>(address), value};
  }
  /// Returns an operation that makes earlier remote writes visible. Feature `wait_value_flush`.
  static MemoryOperation flush_remote_writes() noexcept { return {Kind::flush_remote_writes, {}, {}, nullptr, 0}; }

  /// Whether the operation waits.
  bool is_wait() const noexcept { return kind == Kind::wait_32 || kind == Kind::wait_64; }
  /// Whether the operation writes.
  bool is_write() const noexcept { return kind == Kind::write_32 || kind == Kind::write_64; }
  /// Whether the value has 64 bits.
  bool is_64() const noexcept { return kind == Kind::write_64 || kind == Kind::wait_64; }
};

}  // namespace weir
