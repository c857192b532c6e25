// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/saved/graph_file_format.hpp"

/// The format of a recording: consecutive segments, with the header and the records of a graph file (docs/graph-format.md).
/// Each segment is written in one piece, so if the program is killed, the file is valid up to its last segment. A segment's
/// checksum covers its offset in the file. A complete recording ends with the record `end`.
namespace weir::recording {

using detail::SavedAddress;

inline constexpr std::string_view magic = "\x89WEIRRC\n";
inline constexpr std::uint32_t version = 2;
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40U;
inline constexpr std::uint32_t none = UINT32_MAX;  ///< no object

/// Kinds of records. Devices, streams, events, modules and kernels are each numbered from 0, operations from 1. `data`
/// refers to objects by these numbers.
namespace record {
inline constexpr std::string_view device = "devi";    ///< name: such as "cuda:0 sm_90"
inline constexpr std::string_view stream = "strm";    ///< data: SavedStream
inline constexpr std::string_view event = "evnt";     ///< data: its device; 1 if it records its time
inline constexpr std::string_view module = "modu";    ///< data: its device, then a bundle
inline constexpr std::string_view function = "kern";  ///< name: the kernel's; data: its module
inline constexpr std::string_view operation =
    "oper";  ///< name: the call's; data: SavedOperation, its ranges, then data that depends on the kind
inline constexpr std::string_view failed = "fail";    ///< data: an operation that was refused
inline constexpr std::string_view piece = "piec";     ///< data: up to `piece_bytes` bytes of memory
inline constexpr std::string_view contents = "cont";  ///< data: an operation, then the pieces that it reads
inline constexpr std::string_view result = "rslt";    ///< data: an operation, then the checksums of its results' pieces
inline constexpr std::string_view note = "note";      ///< name: what is missing
inline constexpr std::string_view stop = "stop";      ///< name: why the recording ends here
inline constexpr std::string_view end = "done";       ///< the program has ended; nothing follows
}  // namespace record

struct SavedStream {
  std::uint32_t device;
  std::int32_t priority;
  std::uint8_t is_default, is_blocking, reserved[6];
};

/// An operation. `kind` is an OperationKind. Kernels, copies, fills and memory operations have the content that they have in
/// a graph file. These kinds have more to them; `object` is what the operation is about:
///   kernel                its accesses follow: their number in 4 bytes, then SavedAccess
///   host_function         name: the function's; without a stream: the function of operation `object` has run
///   allocate              object: the device; SavedMemory. Memory is numbered from 0, together with variables
///   module_global         object: the module; name: the variable's; SavedMemory
///   free                  object: the memory
///   record, wait_event    object: the event; other: 1 if the graph records it or waits for it at each launch
///   wait_stream           object: the awaited stream
///   synchronize           waits for `stream`, or else for the event `object`, or else for the device `other`
///   host_access           one range, stored as a result
///   host_copy             like copy; other: the device
///   begin_capture         object: the graph that it continues
///   end_capture           other: 1 if it made a graph. Graphs are numbered from 0
///   capture_dependencies  4 bytes for each dependency: the operation that made the node
///   child_graph           object: the graph
///   clone_graph           object: the graph; makes the next graph
///   instantiate           object: the graph. Executables are numbered from 0
///   update_graph          object: the executable; other: the graph
///   launch_graph          object: the executable
///   enable_peer_access    object: the device; other: the peer whose memory it may address
struct SavedOperation {
  std::uint8_t kind, is_captured, reserved[2];
  std::uint32_t stream, object, other;
  std::uint32_t reads, results;  ///< the number of ranges that follow
};

/// Memory that the host can read.
struct SavedRange {
  SavedAddress first;
  std::uint64_t bytes;
};

/// An access of a kernel as reported to tools.
struct SavedAccess {
  SavedAddress first;
  std::uint64_t bytes, pitch, rows, kind;
};

/// The memory number for memory that Weir has not allocated; the offset is then the address.
inline constexpr std::uint32_t of_host = SavedAddress::allocated;

/// Memory is compared and stored in pieces, which begin at multiples of this size.
inline constexpr std::size_t piece_bytes = 4096;

/// Calls `function(at, size)` for each piece of a range.
template <class F>
void for_each_piece(const SavedRange& range, F&& function) {
  for (std::uint64_t at = 0; at < range.bytes;) {
    const std::size_t size =
        std::min<std::uint64_t>(piece_bytes - (range.first.offset + at) % piece_bytes, range.bytes - at);
    function(static_cast<std::size_t>(at), size);
    at += size;
  }
}

/// Returns the checksum of segment `number`. It depends on the number, so that a segment in the wrong place is found.
inline std::uint64_t segment_check(std::uint64_t number, std::span<const std::byte> records) noexcept {
  return detail::check_number(records) + (number + 1) * 0xD1B54A32D192ED03U;
}

inline std::uint64_t check_of(std::span<const std::byte> piece) noexcept {
  std::byte tail[16] = {};
  const std::size_t whole = piece.size() / 16 * 16;
  if (whole != piece.size()) std::memcpy(tail, piece.data() + whole, piece.size() - whole);
  return std::rotl(detail::check_number(piece.first(whole)), 1) ^ detail::check_number(tail);
}

}  // namespace weir::recording
