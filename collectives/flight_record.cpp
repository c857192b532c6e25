// SPDX-License-Identifier: Apache-2.0
#include "collectives/flight_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <system_error>

#include "collectives/operation.hpp"
#include "core/base/file_descriptor.hpp"
#include "core/base/host_name.hpp"
#include "weir/plugin/support.hpp"

namespace weir::collectives {
namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      result += c;
  }
  return result + '"';
}

std::string seconds(std::chrono::nanoseconds time) {
  return fmt::format("{}.{:09}", time.count() / 1'000'000'000, time.count() % 1'000'000'000);
}

}  // namespace

const std::optional<std::string>& flight_folder() {
  static const std::optional<std::string> folder = support::environment_path("WEIR_FLIGHT_RECORD");
  return folder;
}

std::string flight_text(const FlightHeader& header, const FlightRecorder& recorder) {
  std::string text = fmt::format(
      "{{\"weir_flight_record\": 1, \"communicator\": {}, \"rank\": {}, \"ranks\": {},\n \"library\": {}, \"device\": {}, "
      "\"host\": {}, \"process\": {}, \"written\": {},\n \"failure\": {},\n \"operations\": [",
      quoted(header.communicator), header.rank, header.ranks, quoted(header.library), quoted(header.device),
      quoted(detail::host_name()), ::getpid(), seconds(std::chrono::system_clock::now().time_since_epoch()),
      quoted(header.failure));
  const char* separator = "\n  ";
  for (const FlightRecorder::Entry& entry : recorder.entries()) {
    const CollectiveCall& call = entry.call;
    text += fmt::format("{}{{\"call\": {}, \"match\": {}, \"kind\": \"{}\"", separator, entry.call.number, entry.call.match,
                        to_string(call.kind));
    separator = ",\n  ";
    if (call.kind != CollectiveCall::Kind::barrier)
      text += fmt::format(", \"count\": {}, \"type\": \"{}\"", call.count, to_string(call.type));
    if (reduces(call)) text += fmt::format(", \"reduction\": \"{}\"", to_string(call.reduction));
    if (has_root(call) || is_paired(call)) text += fmt::format(", \"{}\": {}", has_root(call) ? "root" : "peer", call.peer);
    const char* const state = entry.is_refused             ? "refused"
                              : entry.done.count() != 0    ? "done"
                              : entry.started.count() != 0 ? "started"
                              : entry.is_captured          ? "captured"
                                                           : "enqueued";
    text += fmt::format(", \"state\": \"{}\"", state);
    if (entry.enqueued.count() != 0) text += ", \"enqueued\": " + seconds(entry.enqueued);
    if (entry.started.count() != 0) text += ", \"started\": " + seconds(entry.started);
    if (entry.done.count() != 0) text += ", \"done\": " + seconds(entry.done);
    text += '}';
  }
  return text + "]}\n";
}

void write_flight_record(const FlightHeader& header, const FlightRecorder& recorder) noexcept try {
  if (!flight_folder()) return;
  const std::string text = flight_text(header, recorder);
  std::string name = fmt::format("{}.rank{}.{}.{}", header.communicator, header.rank, detail::host_name(), ::getpid());
  for (char& c : name) {
    if (c == '/' || c == ' ') c = '-';
  }
  const std::string file = *flight_folder() + "/" + name + ".json", partial = file + ".partial";
  bool is_written = false;
  {
    const detail::FileDescriptor out(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    is_written = out && out.write(text.data(), text.size());
  }
  if (is_written && ::rename(partial.c_str(), file.c_str()) == 0) {
    support::log(support::LogLevel::info, "the flight record is in " + file);
    return;
  }
  const int error = errno;
  ::unlink(partial.c_str());
  support::log(support::LogLevel::warn,
               fmt::format("the flight record {} could not be written: {}", file, std::generic_category().message(error)));
} catch (const std::exception& error) {
  support::log(support::LogLevel::warn, "the flight record could not be written: ", error.what());
}

}  // namespace weir::collectives
