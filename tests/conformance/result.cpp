// SPDX-License-Identifier: Apache-2.0
#include "result.hpp"

#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

// Converts the result of a case to JSON and back.

namespace conformance {
namespace {

using Json = nlohmann::json;

Json to_json(const char* kind, const CaseResult& r) {
  return {{"kind", kind},           {"name", r.name},       {"suite", r.suite},     {"file", r.file},
          {"line", r.line},         {"outcome", r.outcome}, {"refused", r.refused}, {"why", r.why},
          {"failures", r.failures}, {"seconds", r.seconds}};
}

CaseResult case_of(const Json& j) {
  return {j["name"],
          j["suite"],
          j["file"],
          j["line"],
          j["outcome"].get<Outcome>(),
          j["refused"],
          j["why"],
          j["failures"].get<std::vector<std::string>>(),
          j["seconds"]};
}

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
  write(text_of({{"kind", "subject"}, {"label", s.label}, {"backend", s.backend}, {"version", s.version}}));
}
void RecordWriter::unusable(const std::string& why) { write(text_of({{"kind", "unusable"}, {"why", why}})); }
void RecordWriter::began(const CaseResult& which) { write(text_of(to_json("began", which))); }
void RecordWriter::ended(const CaseResult& result) { write(text_of(to_json("ended", result))); }
void RecordWriter::filtered(const std::string& name) { write(text_of({{"kind", "filtered"}, {"name", name}})); }

void read_record(const std::string& line, Sink& sink) {
  const Json json = Json::parse(line);
  const std::string kind = json["kind"];
  if (kind == "subject") sink.subject({json["label"], json["backend"], json["version"]});
  if (kind == "unusable") sink.unusable(json["why"]);
  if (kind == "began") sink.began(case_of(json));
  if (kind == "ended") sink.ended(case_of(json));
  if (kind == "filtered") sink.filtered(json["name"]);
}

}  // namespace conformance
