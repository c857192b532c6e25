// SPDX-License-Identifier: Apache-2.0
#include "result.hpp"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

// Converts the result of a case to JSON and back.

namespace conformance {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CaseResult, name, suite, file, line, outcome, refused, why, failures, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Subject, label, backend, version)

namespace {

using Json = nlohmann::json;


// What a driver says may be no UTF-8.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

void RecordWriter::write(const std::string& line) const {
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(descriptor_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);  // nobody listens
    done += static_cast<std::size_t>(written);
  }
}

void RecordWriter::subject(const Subject& s) {
  write(text_of({{"kind", "subject"}, {"subject", s}}));
}
void RecordWriter::unusable(const std::string& why) { write(text_of({{"kind", "unusable"}, {"why", why}})); }
void RecordWriter::began(const CaseResult& which) { write(text_of({{"kind", "began"}, {"case", which}})); }
void RecordWriter::ended(const CaseResult& result) { write(text_of({{"kind", "ended"}, {"case", result}})); }
void RecordWriter::filtered(const std::string& name) { write(text_of({{"kind", "filtered"}, {"name", name}})); }

void read_record(const std::string& line, Sink& sink) {
  const Json json = Json::parse(line);
  const std::string kind = json["kind"];
  if (kind == "subject") sink.subject(json["subject"].get<Subject>());
  if (kind == "unusable") sink.unusable(json["why"]);
  if (kind == "began") sink.began(json["case"].get<CaseResult>());
  if (kind == "ended") sink.ended(json["case"].get<CaseResult>());
  if (kind == "filtered") sink.filtered(json["name"]);
}

}  // namespace conformance
