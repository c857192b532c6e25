// SPDX-License-Identifier: Apache-2.0
#include "tools/race/report.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "tools/model/options.hpp"
#include "tools/model/own_file.hpp"
#include "weir/error.hpp"

namespace weir::race {

using Json = nlohmann::ordered_json;
using model::Frame;
using model::frames_of;
using model::Step;

namespace {

std::vector<std::string> read_suppressions(const std::string& file) {
  const auto cannot_be_read = [&](const std::string& why) {
    throw Error(Errc::invalid_environment, "reading WEIR_RACE", "",
                fmt::format("the file '{}' cannot be read{}", file, why));
  };
  std::ifstream in(file);
  if (!in) cannot_be_read(": " + std::generic_category().message(errno));
  std::vector<std::string> patterns;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') patterns.push_back(line);
  }
  if (in.bad()) cannot_be_read("");
  return patterns;
}

const char* kind_of(const Access& access) {
  if (access.update > UpdateKind::max_unsigned_64)
    return access.update == UpdateKind::bit_and  ? "updates by atomic operations (and)"
           : access.update == UpdateKind::bit_or ? "updates by atomic operations (or)"
                                                 : "updates by atomic operations (xor)";
  if (access.update > UpdateKind::min_unsigned_64) return "updates by atomic operations (max)";
  if (access.update > UpdateKind::add_double) return "updates by atomic operations (min)";
  if (access.update != UpdateKind::unknown) return "updates by atomic operations (add)";
  switch (access.kind) {
    case AccessKind::read: return "reads";
    case AccessKind::write: return "writes";
    case AccessKind::read_write: return "reads and writes";
    case AccessKind::atomic: return "updates by atomic operations";
  }
  return "";
}

std::string bytes_of(const Region& region) {
  return region.rows == 1 ? fmt::format("{} bytes", region.width)
                          : fmt::format("{} rows of {} bytes", region.rows, region.width);
}

std::string text_of(const char* which, const Access& access, const std::vector<Frame>& frames) {
  const Step& step = *access.step;
  std::string text = fmt::format("  {}: {} {} {} at {:#x}, on {}, from thread {}", which, step.what, kind_of(access),
                                 bytes_of(access.region), access.region.begin, access.where(), step.thread);
  if (!step.tag.empty()) text += fmt::format(", in \"{}\"", step.tag);
  text += '\n' + text_of(frames);
  if (access.launch)
    text += fmt::format("    in a graph that was launched on {}:\n", access.launch->where) +
            text_of(frames_of(access.launch->stack));
  return text;
}

Json json_of(const std::vector<Frame>& frames) {
  Json list = Json::array();
  for (const Frame& frame : frames) list.push_back({{"function", frame.function}, {"place", frame.place}});
  return list;
}

Json json_of(const Access& access, const std::vector<Frame>& frames) {
  const Step& step = *access.step;
  Json json = {{"operation", step.what},       {"on", access.where()},
               {"access", kind_of(access)},    {"address", access.region.begin},
               {"bytes", access.region.width}, {"rows", access.region.rows},
               {"thread", step.thread},        {"tag", step.tag},
               {"stack", json_of(frames)}};
  if (access.launch) json["launch_stack"] = json_of(frames_of(access.launch->stack));
  return json;
}

/// Returns the innermost frame that is shown, such as "main src/main.cpp:30".
std::string first_line(const std::vector<Frame>& frames) {
  const std::string text = text_of(frames);
  const std::size_t begin = text.find("#0 ");
  return begin == std::string::npos ? "" : text.substr(begin + 3, text.find('\n', begin) - begin - 3);
}

std::string remedy_of(Fault fault, const Access& first, const Access& second) {
  if (fault == Fault::use_after_free) {
    return "keep an owner of the memory (a Buffer or an AllocationPtr) until its last use is enqueued";
  }
  if (second.point.lane == 0) {
    return fmt::format(
        "before the second, wait on the host for the first: synchronize() of {}, or of an event recorded after it",
        first.where());
  }
  if (first.point.lane == 0) return "finish the host's access to the memory before the work that uses it is enqueued";
  if (first.where() == second.where()) {
    return "the two are in one graph: during the capture, make the second operation's stream wait for the first operation's "
           "stream";
  }
  const bool has_kernel = first.step->what.starts_with("kernel") || second.step->what.starts_with("kernel");
  return fmt::format(
      "between the two, let {} wait for {}: second.wait(first), or record an event after the first operation and wait for "
      "it{}",
      second.where(), first.where(),
      has_kernel ? "; or, if the kernels use different parts of the memory, declare them: accesses::touches" : "");
}

}  // namespace

Options read_options() {
  Options options;
  model::read_options("WEIR_RACE", "is not json=FILE, suppressions=FILE or status=NUMBER (0 to 255)",
                      [&](std::string_view key, std::string_view value) {
                        if (key == "status") return model::read_status(value, options.status);
                        if (value.empty()) return false;
                        if (key == "json") {
                          options.json = model::with_process(value);
                        } else if (key == "tally") {  // for `weir run`
                          options.tally = value;
                        } else if (key == "pairs") {  // for `weir race --witness`
                          options.pairs = value;
                        } else if (key == "suppressions") {
                          options.suppressions = read_suppressions(std::string(value));
                        } else {
                          return false;
                        }
                        return true;
                      });
  return options;
}

Report::Report(Options options) : options_(std::move(options)), pairs_(options_.pairs) {
  if (!options_.json.empty()) {
    file_ = detail::FileDescriptor(model::open_own("weir race", options_.json));
    if (!file_) give_up();
  }
  write(false);
  if (!options_.tally.empty()) std::ofstream(options_.tally, std::ios::app) << "0\n";
}

void Report::write(bool is_end) {
  if (!file_ || (!is_end && !model::is_regular(file_.number()))) return;
  const Json all = {{"reports", reports_}, {"suppressed", suppressed_}, {"limits", limits_}};
  const std::string text = all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";  // never shorter than before
  (void)::lseek(file_.number(), 0, SEEK_SET);
  if (!file_.write(text.data(), text.size())) give_up();
}

void Report::give_up() noexcept {
  std::fprintf(stderr, "weir race: the file '%s' could not be written: %s\n", options_.json.c_str(),
               std::generic_category().message(errno).c_str());
  file_.close();
}

bool Report::is_suppressed(const Access& access, const std::vector<Frame>& frames) const {
  const auto matches = [](const std::string& pattern, const std::string& text) {
    return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  return std::any_of(options_.suppressions.begin(), options_.suppressions.end(), [&](const std::string& pattern) {
    const std::string& what = access.step->what;  // "kernel 'scale'"
    return matches(pattern, what) || matches("* '" + pattern + "'", what) ||
           std::any_of(frames.begin(), frames.end(), [&](const Frame& frame) {
             return matches(pattern, frame.function) || matches(pattern, frame.place);
           });
  });
}

void Report::add(Fault fault, const Access& first, const Access& second, const Block& block, const std::string& note) {
  if (!told_.emplace(first.step->place, second.step->place).second) return;
  const std::vector<Frame> first_frames = frames_of(first.step->stack), second_frames = frames_of(second.step->stack);
  if (is_suppressed(first, first_frames) || is_suppressed(second, second_frames)) {
    ++suppressed_;
    return write(false);
  }
  ++count_;
  const std::string remedy = remedy_of(fault, first, second);
  const std::vector<Frame> made = block.made ? frames_of(block.made->stack) : std::vector<Frame>();
  std::string text = fault == Fault::race
                         ? "weir race: two operations touch the same memory, one of them writes, and nothing orders them\n"
                         : "weir race: memory is used after it was freed in the order of its stream\n";
  text += text_of(fault == Fault::race ? "first" : "free", first, first_frames);
  text += text_of(fault == Fault::race ? "second" : "use", second, second_frames);
  if (block.made) {
    text +=
        fmt::format("  memory: byte {} of {}{}, of {}\n", std::max(first.region.begin, second.region.begin) - block.begin,
                    block.end - block.begin, block.name.empty() ? "" : " of" + model::quoted(block.name), block.made->what) +
        text_of(made);
  }
  if (!note.empty()) text += fmt::format("  note: {}\n", note);
  text += fmt::format("  remedy: {}\n", remedy);
  std::fputs(text.c_str(), stderr);
  if (!options_.tally.empty()) std::ofstream(options_.tally, std::ios::app) << std::to_string(options_.status) + '\n';
  const char* const kind = fault == Fault::race ? "race" : "use_after_free";
  reports_.push_back(
      {{"fault", kind},
       {"first", json_of(first, first_frames)},
       {"second", json_of(second, second_frames)},
       {"memory",
        {{"name", block.name}, {"address", block.begin}, {"bytes", block.end - block.begin}, {"stack", json_of(made)}}},
       {"note", note},
       {"remedy", remedy}});
  write(false);
  pairs_.add(first, second,
             {{"fault", kind},
              {"first", {{"operation", first.step->what}, {"place", first_line(first_frames)}}},
              {"second", {{"operation", second.step->what}, {"place", first_line(second_frames)}}}});
}

void Report::add_limit(const std::string& what) {
  if (!limits_.insert(what).second) return;
  std::fprintf(stderr, "weir race: %s; a race may have been missed\n", what.c_str());
  write(false);
}

int Report::finish(std::uint64_t operations) noexcept {
  pairs_.finish();
  write(true);
  model::release(file_.number());
  const bool is_lost = !file_ && !options_.json.empty();
  if (count_ == 0) {
    std::fprintf(stderr, "weir race: %" PRIu64 " operations, no race%s\n", operations,
                 suppressed_ != 0 ? " except suppressed ones" : "");
    return is_lost ? model::lost_output : 0;
  }
  std::fprintf(stderr, "weir race: %zu place%s where an order is missing\n", count_, count_ == 1 ? "" : "s");
  return options_.status;
}

}  // namespace weir::race
