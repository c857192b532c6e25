// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "../progress_line.hpp"
#include "../readable_name.hpp"
#include "commands.hpp"
#include "core/base/temporary_folder.hpp"
#include "report.hpp"
#include "runs.hpp"
#include "weir/plugin/waits.hpp"

namespace weir::tool {
namespace {

/// One of the two operations of a race.
struct RaceSide {
  std::string name;       ///< the operation's name in schedules: "3.2", "3.2/0", "host"; empty: none
  std::string last;       ///< the name of the last operation of the same call
  std::string operation;  ///< "kernel 'scale'"
  std::string place;      ///< "main src/main.cpp:30"

  bool is_host() const { return name == "host"; }
  bool is_of_host() const { return is_host() || operation == "Buffer::host"; }  // the host or its host function
  std::string text() const { return place.empty() ? operation : operation + " at " + place; }
};

struct RacePair {
  RaceSide first, second;
  Json report;                    ///< the tool's report
  bool has_other_memory = false;  ///< the program uses memory of other code, or opened memory of another process
};

RaceSide side_of(const Json& json) { return {json["name"], json["last"], json["operation"], json["place"]}; }

/// Runs the program once on the host backend with the tool `race`, and returns the pairs that race. `run`: receives the
/// outcome. Afterwards the environment has no tools, but still this schedule.
std::vector<RacePair> find_races(const RaceOptions& options, const std::string& folder, Run& run) {
  const std::string file = folder + "/pairs", tally = folder + "/tally";
  const char* const own = std::getenv("WEIR_RACE");
  ::setenv("WEIR_BACKEND", "host", 1);
  ::setenv("WEIR_SCHEDULE", options.schedule.c_str(), 1);
  ::setenv("WEIR_TOOLS", "race", 1);
  ::setenv("WEIR_RACE",
           fmt::format("{}pairs={},tally={}", own != nullptr ? std::string(own) + "," : "", file, tally).c_str(), 1);
  run = run_once(options.command, std::chrono::seconds(options.timeout));
  ::unsetenv("WEIR_TOOLS");
  ::unsetenv("WEIR_RACE");
  run.used_weir = std::filesystem::exists(tally);
  std::vector<RacePair> pairs;
  std::ifstream in(file);
  bool has_other_memory = false;
  for (std::string line; std::getline(in, line);) {
    Json report = Json::parse(line);
    if (report.contains("memory")) {
      has_other_memory = true;
      continue;
    }
    RaceSide first = side_of(report["first"]), second = side_of(report["second"]);
    pairs.push_back({std::move(first), std::move(second), std::move(report)});
  }
  for (RacePair& pair : pairs) pair.has_other_memory = has_other_memory;
  return pairs;
}

/// The outcome of a run in one of the two orders.
struct Outcome {
  bool hung = false;
  bool told_all = false;  ///< all memory was reported, so `memory` is complete
  bool gave_up = false;   ///< a wait with a deadline timed out because an operation was held back
  int status = 0;
  std::string output;
  std::vector<std::string> files;
  std::map<std::string, std::string> memory;  ///< by allocation: its final contents as "BYTES HASH"
  std::string missing;                        ///< why the requested order did not occur; empty if it did
  std::vector<std::string> changed;           ///< names of the operations, among the two, that changed memory
  std::string before, behind;                 ///< hashes of all memory before and after the two, if they ran back to back

  bool crashed() const { return !hung && WIFSIGNALED(status); }
  std::string end() const {
    if (hung) return "it hangs";
    if (crashed()) return fmt::format("signal {} ends it ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    return fmt::format("its exit status is {}", WEXITSTATUS(status));
  }
};

/// Whether the operation that ran has the kind that the detector recorded under the same name.
bool is_same_kind(const std::string& seen, const std::string& ran) {
  if (ran.empty()) return true;
  if (!seen.starts_with("kernel") && !seen.starts_with("Stream::")) return true;
  if (seen == "Stream::allocate_async") return true;  // an allocation uses the name of the operation before it
  if (ran == "copy") return seen.find("copy") != seen.npos;
  if (ran == "fill") return seen.find("fill") != seen.npos || seen.find("zero") != seen.npos;
  constexpr std::string_view kernel = "kernel '";
  if (!ran.starts_with(kernel)) return seen == ran;
  return seen == fmt::format("{}{}'", kernel, readable_name(ran.substr(kernel.size(), ran.size() - kernel.size() - 1)));
}

class Witness {
 public:
  Witness(const RaceOptions& options, const std::string& folder, std::chrono::seconds timeout)
      : options_(options), folder_(folder), timeout_(timeout) {}

  struct Verdict {
    const char* word = "";  ///< "shown", "same", "untried"
    std::string text;
    std::string schedule;  ///< the schedule that shows the race, or one of the two compared schedules
  };

  Verdict judge(const RaceSide& first, const RaceSide& second) {
    if (first.name.empty() || second.name.empty())
      return {"untried", "not tried: a schedule cannot delay one of the two", ""};
    const std::array<const RaceSide*, 2> sides = {&first, &second};
    std::array<std::string, 2> schedules;
    std::array<Outcome, 2> outcomes;
    for (std::size_t early = 0; early < 2; ++early) {
      schedules[early] = schedule_of(*sides[early], *sides[1 - early]);
      outcomes[early] = run(schedules[early], *sides[early], *sides[1 - early]);
    }
    for (std::size_t early = 0; early < 2; ++early) {
      if (const std::string& why = outcomes[early].missing; !why.empty()) {
        return {"untried", fmt::format("not shown: the order with {} first did not occur: {}", sides[early]->operation, why),
                schedules[early]};
      }
    }
    if (outcomes[0].gave_up || outcomes[1].gave_up) {
      return {"untried", "not shown: a wait with a deadline timed out, perhaps because an operation was delayed",
              schedules[outcomes[0].gave_up ? 0 : 1]};
    }
    // Each order must give the same result each time: in five runs if the orders differ, else in two. If the result varies
    // from run to run, it proves nothing.
    std::vector<std::array<Outcome, 2>> repeated;
    const auto is_constant = [&](auto&& part, std::size_t times) {
      for (std::size_t n = 0; n < times; ++n) {
        if (n == repeated.size()) {
          repeated.emplace_back();
          for (std::size_t i = 0; i < 2; ++i) repeated.back()[i] = run(schedules[i], *sides[i], *sides[1 - i]);
        }
        for (std::size_t i = 0; i < 2; ++i) {
          const Outcome& again = repeated[n][i];
          if (!again.missing.empty() || again.gave_up || part(again) != part(outcomes[i])) return false;
        }
      }
      return true;
    };
    bool varies = false;
    const auto differs = [&](auto&& part) {
      const bool is_different = part(outcomes[0]) != part(outcomes[1]);
      const bool repeats = is_constant(part, is_different ? 4 : 1);
      varies |= !repeats;
      return is_different && repeats;
    };
    const auto is_bad = [&](std::size_t i) { return outcomes[i].hung || outcomes[i].status != 0; };
    const std::size_t worse = is_bad(0) && !is_bad(1) ? 0 : 1;
    const auto where = [&](std::size_t early) { return fmt::format("if {} comes first", sides[early]->text()); };
    if (differs([](const Outcome& o) { return std::pair(o.hung, o.hung ? 0 : o.status); })) {
      const Outcome& bad = outcomes[worse];
      const char* const what = bad.hung ? "deadlock: " : bad.crashed() ? "crash: " : "";
      return {"shown",
              fmt::format("shown: {}{}, {}; otherwise {}", what, bad.end(), where(worse), outcomes[1 - worse].end()),
              schedules[worse]};
    }
    if (differs([](const Outcome& o) { return o.output; })) {
      return {"shown",
              "shown: the program's output differs" + first_difference(outcomes[0].output, outcomes[1].output, where),
              schedules[worse]};
    }
    for (std::size_t i = 0; i < options_.outputs.size(); ++i) {
      if (differs([&](const Outcome& o) { return o.files[i]; }))
        return {"shown", fmt::format("shown: the file '{}' differs", options_.outputs[i]), schedules[worse]};
    }
    if (outcomes[0].hung) return {"untried", "not shown: it hangs in both orders", schedules[worse]};
    const bool are_together = !outcomes[0].before.empty() && outcomes[0].before == outcomes[1].before;
    const char* const but_no_output = "; the program's output is the same";
    if (are_together && differs([](const Outcome& o) { return std::pair(o.before, o.behind); })) {
      return {"shown", fmt::format("shown: the memory after the two differs{}", but_no_output), schedules[worse]};
    }
    if (!are_together && (!outcomes[0].told_all || !outcomes[1].told_all)) {
      return {"untried",
              "not shown: the output is the same in both orders; the final memory is unknown, because the program ends by "
              "_exit, quick_exit or a signal",
              schedules[worse]};
    }
    if (!are_together && differs([](const Outcome& o) { return o.memory; }))
      return {"shown", "shown: " + memory_difference(outcomes[0], outcomes[1]) + but_no_output, schedules[worse]};
    if (varies) {
      return {"untried",
              "not shown: the program's output, its memory, or the order varies from run to run, so the two orders cannot "
              "be compared",
              schedules[worse]};
    }
    if (first.is_of_host() && second.is_of_host()) {
      return {"untried",
              "not shown: the output is the same in both orders; other effects of the program's functions are not compared",
              schedules[worse]};
    }
    for (std::size_t i = 0; i < 2; ++i) {  // the host or its function may read memory that the other side changes
      const auto& changed = outcomes[i].changed;
      if (!sides[i]->is_of_host() || std::find(changed.begin(), changed.end(), sides[1 - i]->name) == changed.end())
        continue;
      return {"untried",
              fmt::format("not shown: the output is the same in both orders; but {} changes memory that the host may read",
                          sides[1 - i]->operation),
              schedules[worse]};
    }
    return {"same",
            fmt::format("benign in this run: the same exit status and output in both orders, and the same memory {}",
                        are_together ? "after the two" : "at the end"),
            schedules[worse]};
  }

 private:
  /// Returns the schedule that runs `early` before `late`.
  std::string schedule_of(const RaceSide& early, const RaceSide& late) const {
    return fmt::format("{},hold={},until={}", options_.schedule, late.name, early.last);
  }

  Outcome run(const std::string& schedule, const RaceSide& early, const RaceSide& late) {
    const std::string notes = folder_ + "/notes", output = folder_ + "/output";
    std::filesystem::remove(notes);
    ::setenv("WEIR_SCHEDULE", (schedule + ",notes=" + notes).c_str(), 1);
    const Run run = run_once(options_.command, timeout_, output, folder_ + "/errors");
    Outcome outcome;
    outcome.hung = run.hung;
    outcome.status = run.status;
    outcome.output = text_in(output);
    for (const std::string& file : options_.outputs) outcome.files.push_back(text_in(file));
    read_notes(notes, early, late, outcome);
    return outcome;
  }

  /// Reads the notes that the host backend writes about a run: "ran NAME KIND", "released NAME WHY", "changed NAME", "host
  /// waited", "together BEFORE BEHIND", "memory NAME BYTES HASH", "end" after all memory lines, "gave up".
  static void read_notes(const std::string& file, const RaceSide& early, const RaceSide& late, Outcome& outcome) {
    std::ifstream in(file);
    std::vector<std::string> ran;
    std::string released;
    bool host_waited = false;
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string verb, name, rest;
      words >> verb >> name >> std::ws;
      std::getline(words, rest);
      if (verb == "ran") {
        ran.push_back(name);
        const RaceSide& side = name == early.last ? early : late;
        if (side.name == side.last && !is_same_kind(side.operation, rest))
          outcome.missing = "in the rerun another operation had its number";
      } else if (verb == "released") {
        released = rest;
      } else if (verb == "memory") {
        outcome.memory[name] = rest;
      } else if (verb == "changed") {
        outcome.changed.push_back(name);
      } else if (verb == "together") {
        outcome.before = name;
        outcome.behind = rest;
      } else if (verb == "end") {
        outcome.told_all = true;
      } else if (verb == "gave") {
        outcome.gave_up = true;
      } else if (verb == "host") {
        host_waited = true;
      }
    }
    if (!outcome.missing.empty()) return;
    const auto has_run = [&](const std::string& name) { return std::find(ran.begin(), ran.end(), name) != ran.end(); };
    const bool has_ended = outcome.hung || outcome.crashed();  // the run was cut short, so some operations may not have run
    if (late.is_host()) {
      if (!has_run(early.last)) {
        outcome.missing = "it did not run";
      } else if (!host_waited) {
        outcome.missing = "it could not run before the host continued";
      }
    } else if (early.is_host()) {
      if (released != "stuck" && !(released.empty() && has_ended)) {
        outcome.missing =
            released.empty() ? "the other operation did not run" : "the host was not idle while it was delayed";
      }
    } else if (!has_run(early.last)) {
      outcome.missing = "it did not run";
    } else if (!released.empty() || (!has_run(late.name) && !has_ended && late.name == late.last)) {
      outcome.missing = released.empty() ? "the other operation did not run"
                                         : "nothing else could run while the other operation was delayed";
    }
  }

  template <class Where>
  static std::string first_difference(const std::string& one, const std::string& other, const Where& where) {
    std::istringstream a(one), b(other);
    std::string line_a, line_b;
    for (int number = 1;; ++number) {
      const bool has_a = static_cast<bool>(std::getline(a, line_a)), has_b = static_cast<bool>(std::getline(b, line_b));
      if (!has_a && !has_b) return "";  // the texts differ only in the end of the last line
      if (has_a && has_b && line_a == line_b) continue;
      const auto shown = [](bool has, const std::string& line) {
        constexpr std::size_t most = 60;
        return !has ? "is missing" : "is \"" + line.substr(0, most) + (line.size() > most ? "…\"" : "\"");
      };
      return fmt::format(": line {} {} {}, and {} {}", number, shown(has_a, line_a), where(0), shown(has_b, line_b),
                         where(1));
    }
  }

  static std::string memory_difference(const Outcome& one, const Outcome& other) {
    std::size_t different = 0;
    std::string bytes;
    for (const auto& [name, content] : one.memory) {
      const auto found = other.memory.find(name);
      if (found != other.memory.end() && found->second == content) continue;
      if (++different == 1) bytes = content.substr(0, content.find(' '));
    }
    if (different == 0) return "in one order there is memory that is not there in the other";
    return fmt::format("the final contents of {} bytes of memory differ", bytes) +
           (different > 1 ? fmt::format(", and those of {} more allocations", different - 1) : "");
  }

  const RaceOptions& options_;
  const std::string& folder_;
  const std::chrono::seconds timeout_;
};

int find_witnesses(const RaceOptions& options) {
  using Clock = std::chrono::steady_clock;
  const detail::TemporaryFolder folder;
  begin_runs();
  const Clock::time_point begin = Clock::now();
  Run first;
  const std::vector<RacePair> pairs = find_races(options, folder.path(), first);
  if (first.error != 0) return cannot_run(options.command.front(), first.error);
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
  if (first.hung) std::fprintf(stderr, "weir race: the program hung and was killed after %u s\n", options.timeout);
  if (pairs.empty() && !first.hung && first.status != 0) {
    const int signal = WIFSIGNALED(first.status) ? WTERMSIG(first.status) : 0;
    std::fprintf(stderr, "weir race: no race was found, but the program failed: %s\n",
                 signal != 0 ? ::strsignal(signal) : fmt::format("exit status {}", WEXITSTATUS(first.status)).c_str());
    return signal != 0 ? 128 + signal : WEXITSTATUS(first.status);
  }
  if (!first.used_weir && !first.hung) {
    std::fputs("weir race: the program did not use Weir, so the tool race checked nothing\n", stderr);
    return 3;
  }
  const std::string variables = other_variables();
  Witness witness(options, folder.path(),
                  options.timeout != 0 ? std::chrono::seconds(options.timeout) : 10 * took + std::chrono::seconds(10));
  std::map<std::string, int> counts;
  Json verdicts = Json::array();
  ProgressLine progress;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    progress.show(fmt::format("[race {} of {}]", i + 1, pairs.size()));
    const auto& [one, other, report, has_other_memory] = pairs[i];
    Witness::Verdict verdict =
        report["fault"] == "race"
            ? witness.judge(one, other)
            : Witness::Verdict{"untried", "not tried: only one order is possible, that of the stream, and it is wrong", ""};
    if (verdict.word == std::string_view("same") && has_other_memory)
      verdict = {"untried", "not shown: the output is the same in both orders; memory of other code is not compared",
                 verdict.schedule};
    ++counts[verdict.word];
    progress.clear();
    std::fprintf(stderr, "weir race: witness %zu of %zu: %s, and %s\n  %s\n", i + 1, pairs.size(), one.text().c_str(),
                 other.text().c_str(), verdict.text.c_str());
    if (!verdict.schedule.empty()) {
      std::fprintf(stderr, "  WEIR_BACKEND=host WEIR_SCHEDULE=%s%s %s\n", verdict.schedule.c_str(), variables.c_str(),
                   line_of(options.command).c_str());
    }
    Json entry = report;
    entry["verdict"] = verdict.word;
    entry["what"] = verdict.text;
    entry["schedule"] = verdict.schedule;
    verdicts.push_back(std::move(entry));
  }
  bool is_lost = false;
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << verdicts.dump(1) << '\n';
    is_lost = !out.flush();
    if (is_lost) std::fprintf(stderr, "weir race: the file '%s' could not be written\n", options.json.c_str());
  }
  std::fprintf(stderr, "weir race: %zu %s: %d shown, %d the same in both orders, %d not shown\n", pairs.size(),
               pairs.size() == 1 ? "race" : "races", counts["shown"], counts["same"], counts["untried"]);
  if (is_lost) return 3;
  return pairs.empty() ? (first.hung ? 124 : 0) : counts["shown"] != 0 ? 1 : 3;
}

}  // namespace

int race_program(const RaceOptions& options) {
  if (options.witness) return find_witnesses(options);
  RunOptions run;
  run.variables["WEIR_TOOLS"] = "race";
  run.command = options.command;
  return run_program(run);
}

}  // namespace weir::tool
