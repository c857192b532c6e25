// SPDX-License-Identifier: Apache-2.0
#include "tools/race/json_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/model/own_file.hpp"

namespace weir::race {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

/// Returns the text after the last report: the end of the array and the object's other members.
std::string end_of(const Json& rest) { return "\n],\n" + text_of(rest).substr(2) + "\n"; }

}  // namespace

JsonFile::JsonFile(std::string name) : name_(std::move(name)) {
  if (name_.empty()) return;
  file_ = model::open_own("weir race", name_);
  if (file_ < 0) {
    fail(errno);
    return;
  }
  is_regular_ = model::is_regular(file_);
  put("{\"reports\": [", is_regular_ ? "]}\n" : "");
}

void JsonFile::write(const Json& report, const Json& rest) {
  const std::string entry = report.is_null() ? "" : (std::exchange(has_reports_, true) ? ",\n" : "\n") + text_of(report);
  put(entry, is_regular_ ? end_of(rest) : "");
}

void JsonFile::finish(const Json& rest) {
  put("", end_of(rest));
  model::release(file_);
}

/// Writes an entry, then `rest`. The next entry overwrites `rest`, and its text is at least as long.
void JsonFile::put(const std::string& entry, const std::string& rest) {
  if (file_ < 0) return;
  if (const int error = store(entry + rest); error != 0) {
    // The earlier, complete text still fits on the disk, so restore it.
    if (is_regular_ && store(rest_) == 0) (void)!::ftruncate(file_, static_cast<off_t>(end_ + rest_.size()));
    return fail(error);
  }
  end_ += entry.size();
  rest_ = rest;
}

/// Writes the text after the first `end_` bytes. Returns 0 or an error number.
int JsonFile::store(std::string_view text) noexcept {
  for (std::size_t done = 0; done < text.size();) {
    const char* const from = text.data() + done;
    const std::size_t bytes = text.size() - done;
    const ssize_t count =
        is_regular_ ? ::pwrite(file_, from, bytes, static_cast<off_t>(end_ + done)) : ::write(file_, from, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    done += static_cast<std::size_t>(count);
  }
  return 0;
}

void JsonFile::fail(int error) noexcept {
  std::fprintf(stderr, "weir race: the file '%s' could not be written: %s\n", name_.c_str(),
               std::generic_category().message(error).c_str());
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace weir::race
