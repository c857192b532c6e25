// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/file_descriptor.hpp"
#include "core/saved/graph_file_format.hpp"
#include "tools/record/format.hpp"

/// Writes a recording to a file.
namespace weir::recording {

/// The recording's file. Not thread-safe. Flushed data is kept even if the process is killed.
class RecordingFile {
 public:
  /// Creates the file, accessible only for this user. Throws `invalid_environment` if that fails.
  RecordingFile(std::string name, std::uint64_t limit);

  void add(std::string_view kind, std::string_view name, std::span<const std::byte> data);
  /// Adds the bytes of a range in pieces, and appends the piece numbers to `numbers`. A piece that the file already contains
  /// is not written again.
  void add_pieces(const SavedRange& range, const std::byte* bytes, detail::NumberWriter& numbers);
  void flush();
  /// Whether the file has reached its limit or cannot be written. After that, only `force` can add records.
  bool is_full() const noexcept { return full_; }
  const std::string& flaw() const noexcept { return flaw_; }
  void force(std::string_view kind, std::string_view name);
  /// Marks the recording as complete and unlocks the file for other processes. Later records are ignored.
  void end();
  /// Whether a segment could not be written.
  bool is_lost() const noexcept { return is_lost_; }

  const std::string& name() const noexcept { return name_; }
  std::uint64_t bytes() const noexcept { return written_; }

 private:
  void write();

  std::string name_;
  std::uint64_t limit_, written_ = 0, segments_ = 0;
  detail::FileDescriptor file_;
  bool full_ = false, ended_ = false, is_lost_ = false;
  std::string flaw_;  // why the file is full
  detail::BundleWriter segment_;
  std::map<std::pair<std::uint64_t, std::size_t>, std::uint32_t> pieces_;  // by checksum and size
};

}  // namespace weir::recording
