// SPDX-License-Identifier: Apache-2.0
#include "tools/record/recording_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tools/model/own_file.hpp"
#include "weir/error.hpp"

namespace weir::recording {
namespace {

// A segment is written at this size, or earlier together with its operation.
constexpr std::size_t segment_bytes = std::size_t{1} << 20U;

}  // namespace

RecordingFile::RecordingFile(std::string name, std::uint64_t limit) : name_(std::move(name)), limit_(limit) {
  file_ = detail::FileDescriptor(model::open_own("weir record", name_));
  if (!file_ || ::fchmod(file_.number(), 0600) != 0) {
    throw Error(Errc::invalid_environment, "creating the recording '" + name_ + "'", "",
                std::generic_category().message(errno) + "; set WEIR_RECORD_FILE to a file in a writable folder");
  }
}

void RecordingFile::add(std::string_view kind, std::string_view name, std::span<const std::byte> data) {
  if (full_ || ended_) return;
  if (written_ + segment_.records().size() + data.size() > limit_) {
    full_ = true;
    flaw_ = fmt::format("the recording has reached its limit of {} bytes; increase WEIR_RECORD_LIMIT", limit_);
    return;
  }
  segment_.add(kind, name, data);
  if (segment_.records().size() >= segment_bytes) write();
}

void RecordingFile::add_pieces(const SavedRange& range, const std::byte* bytes, detail::NumberWriter& numbers) {
  for_each_piece(range, [&](std::size_t at, std::size_t size) {
    const std::span piece(bytes + at, size);
    const auto [there, is_new] = pieces_.try_emplace({check_of(piece), size}, static_cast<std::uint32_t>(pieces_.size()));
    if (is_new) add(record::piece, "", piece);
    numbers.put(there->second);
  });
}

void RecordingFile::flush() {
  if (!segment_.records().empty()) write();
}

void RecordingFile::force(std::string_view kind, std::string_view name) {
  segment_.add(kind, name, "");
  write();
}

void RecordingFile::write() {
  const std::vector<std::byte> bytes = segment_.with_header(magic, version, segment_check(segments_++, segment_.records()));
  segment_ = {};
  const bool done = file_.write(bytes.data(), bytes.size());
  if (done) written_ += bytes.size();
  if (done || is_lost_) return;
  full_ = is_lost_ = true;
  flaw_ = fmt::format("'{}' cannot be written: {}; free space on the disk", name_, std::generic_category().message(errno));
}

void RecordingFile::end() {
  if (!is_lost_) force(record::end, "");
  ended_ = true;
  model::release(file_.number());
}

}  // namespace weir::recording
