// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/run_program.hpp"

// Tests the trace of the tool `timeline`, decoded according to Perfetto's .proto files.

namespace {

using weir::test::TemporaryFolder;

struct Field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of a number
  std::string_view bytes;   // of a text or a message
};

/// The fields of a message. Throws std::runtime_error for what is no protobuf.
std::vector<Field> decode(std::string_view message) {
  std::size_t at = 0;
  const auto byte = [&] {
    if (at >= message.size()) throw std::runtime_error("cut short");
    return static_cast<unsigned char>(message[at++]);
  };
  const auto varint = [&] {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      number |= (next & 0x7FU) << shift;
      if (next < 0x80) return number;
    }
    throw std::runtime_error("a number of more than 64 bits");
  };
  std::vector<Field> fields;
  while (at < message.size()) {
    const std::uint64_t key = varint();
    Field field{static_cast<std::uint32_t>(key >> 3U), 0, {}};
    switch (key & 7U) {
      case 0: field.value = varint(); break;
      case 1:
        for (int i = 0; i < 8; ++i) field.value |= static_cast<std::uint64_t>(byte()) << (8 * i);
        break;
      case 2: {
        const std::uint64_t size = varint();
        if (size > message.size() - at) throw std::runtime_error("a field beyond the message");
        field.bytes = message.substr(at, size);
        at += size;
        break;
      }
      default: throw std::runtime_error("a type that Perfetto does not use");
    }
    fields.push_back(field);
  }
  return fields;
}

std::uint64_t number(const std::vector<Field>& fields, std::uint32_t wanted) {
  for (const Field& field : fields) {
    if (field.number == wanted) return field.value;
  }
  return 0;
}

/// A part of what was decoded: valid as long as that.
std::string_view bytes(const std::vector<Field>& fields, std::uint32_t wanted) {
  for (const Field& field : fields) {
    if (field.number == wanted) return field.bytes;
  }
  return {};
}

std::string text(const std::vector<Field>& fields, std::uint32_t wanted) { return std::string(bytes(fields, wanted)); }

struct Slice {
  std::uint64_t begin = 0, end = 0;
  std::string name;
  std::map<std::string, std::uint64_t> annotations;
  std::set<std::uint64_t> flows, flow_ends;
  std::string within;  // the slice of the same track that it is nested in
};

struct Trace {
  std::map<std::uint64_t, std::string> tracks;
  std::map<std::uint64_t, std::uint64_t> parents;      // of tracks
  std::map<std::uint64_t, std::vector<Slice>> slices;  // in the order of their begins
  std::map<std::uint64_t, std::vector<std::uint64_t>> counters;
};

/// Checks what must hold of every trace on the way. `is_cut`: the program was killed, so slices may have no end.
Trace read_trace(const std::string& content, bool is_cut = false) {
  Trace trace;
  struct Entry {
    std::uint64_t time;
    std::vector<Field> event;
  };
  std::vector<Entry> entries;
  for (const Field& packet_field : decode(content)) {
    REQUIRE(packet_field.number == 1);
    const std::vector<Field> packet = decode(packet_field.bytes);
    if (const std::string_view descriptor = bytes(packet, 60); !descriptor.empty()) {
      const std::vector<Field> track = decode(descriptor);
      const std::string_view thread = bytes(track, 4), process = bytes(track, 3);
      std::string name = text(track, 2);
      if (!thread.empty()) {
        name = text(decode(thread), 5);
        CHECK(number(decode(thread), 1) != 0);
        CHECK(number(decode(thread), 2) != 0);
      }
      if (!process.empty()) {
        name = text(decode(process), 6);
        CHECK(number(decode(process), 1) != 0);
      } else {
        CHECK(trace.tracks.contains(number(track, 5)));  // the process's
      }
      CHECK_FALSE(name.empty());
      CHECK(number(packet, 10) == number(track, 1));
      trace.tracks[number(track, 1)] = name;  // Perfetto takes the last name
      trace.parents[number(track, 1)] = number(track, 5);
      continue;
    }
    REQUIRE_FALSE(bytes(packet, 11).empty());
    entries.push_back({number(packet, 8), decode(bytes(packet, 11))});
    const std::uint64_t track = number(entries.back().event, 11);
    REQUIRE(trace.tracks.contains(track));
    CHECK(number(packet, 10) == track);  // a sequence of its own: only so Perfetto lets tracks come in any order
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
  std::map<std::uint64_t, std::vector<std::size_t>> open;
  for (const auto& [time, event] : entries) {
    const std::uint64_t track = number(event, 11);
    std::vector<Slice>& slices = trace.slices[track];
    switch (number(event, 9)) {
      case 1: {
        Slice slice{time, 0, text(event, 23), {}, {}, {}, ""};
        if (!open[track].empty()) slice.within = slices[open[track].back()].name;
        for (const Field& field : event) {
          if (field.number == 4) slice.annotations[text(decode(field.bytes), 10)] = number(decode(field.bytes), 3);
          if (field.number == 47) slice.flows.insert(field.value);
          if (field.number == 48) slice.flow_ends.insert(field.value);
        }
        open[track].push_back(slices.size());
        slices.push_back(slice);
        break;
      }
      case 2:
        REQUIRE_FALSE(open[track].empty());
        slices[open[track].back()].end = time;
        open[track].pop_back();
        break;
      case 4: trace.counters[track].push_back(number(event, 30)); break;
      default: FAIL("an event of another type");
    }
  }
  for (const auto& [track, unfinished] : open) CHECK((is_cut || unfinished.empty()));
  return trace;
}

Trace read_trace_of(const std::string& file, bool is_cut = false) {
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};  // the fields are parts of it
  return read_trace(content, is_cut);
}

template <class F>
void for_each_slice(const Trace& trace, const F& function) {
  for (const auto& [track, slices] : trace.slices) {
    for (const Slice& slice : slices) function(track, slice);
  }
}

struct Traced {
  weir::test::Outcome outcome;
  Trace trace;
};
/// Runs a program on the host, or on `backend`, and reads its trace.
Traced run_traced(const std::string& program, bool is_cut = false, const char* backend = nullptr) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/trace";
  const weir::test::Environment environment = {
      {"WEIR_BACKEND", backend != nullptr ? backend : "host"}, {"WEIR_TOOLS", "timeline"}, {"WEIR_TIMELINE", file}};
  Traced run{weir::test::run("/usr/bin/timeout", {"60", WEIR_TEST_PROGRAMS, program}, environment), {}};
  CAPTURE(run.outcome.errors);
  CHECK((run.outcome.status == 0) != is_cut);
  CHECK(run.outcome.complains(file + " written") != is_cut);
  run.trace = read_trace_of(file, is_cut);
  return run;
}

/// How long some slice of that track that is in no other was there, in milliseconds: what the summary calls busy.
double busy_ms(const Trace& trace, std::uint64_t track) {
  std::uint64_t sum = 0;
  for (const Slice& slice : trace.slices.at(track)) {
    if (slice.within.empty()) sum += slice.end - slice.begin;
  }
  return static_cast<double>(sum) / 1e6;
}

}  // namespace

TEST_CASE("timeline: streams, threads, waits and memory are in the trace") {
  const Traced run = run_traced("right_write_then_read", false, std::getenv("WEIR_TEST_BACKEND"));
  CHECK(run.outcome.complains("some stream busy"));

  const Slice *fill = nullptr, *copy = nullptr, *wait = nullptr;
  std::uint64_t fill_track = 0, copy_track = 0;
  for_each_slice(run.trace, [&](std::uint64_t track, const Slice& slice) {
    CHECK(slice.end >= slice.begin);
    if (slice.name == "fill") fill = &slice, fill_track = track;
    if (slice.name == "copy") copy = &slice, copy_track = track;
    if (slice.name == "Stream::wait") wait = &slice;
  });
  REQUIRE((fill != nullptr && copy != nullptr && wait != nullptr));
  CHECK(fill_track != copy_track);
  CHECK(run.trace.tracks.at(fill_track).find("stream") != std::string::npos);
  CHECK(fill->annotations.at("bytes") == 4096 * sizeof(float));
  CHECK(copy->begin >= fill->end);
  // Where the fill was written before the other stream waited for it, the arrow begins at its end.
  std::set<std::uint64_t> flows = fill->flows;
  for (const Slice& slice : run.trace.slices.at(fill_track)) {
    if (slice.name != "awaited") continue;
    CHECK(slice.begin == std::max(fill->begin, fill->end - 1));
    flows.insert(slice.flows.begin(), slice.flows.end());
  }
  REQUIRE(flows.size() == 1);
  CHECK(flows == copy->flow_ends);

  REQUIRE(run.trace.counters.size() == 1);
  const auto& [track, values] = *run.trace.counters.begin();
  CHECK(run.trace.tracks.at(track).find("memory in use") != std::string::npos);
  CHECK(values == std::vector<std::uint64_t>{16384, 32768, 49152, 32768, 16384, 0});
}

TEST_CASE("timeline: work that is under way when the program ends is in the trace") {
  const Traced run = run_traced("right_work_at_the_end");
  CHECK(run.outcome.complains(": 100 operations, busy"));
  CHECK(run.outcome.complains(": 1 operations, busy"));
  CHECK_FALSE(run.outcome.complains("have no time"));
}

TEST_CASE("timeline: on the host the nodes of a replay are slices in the launch's slice") {
  const Traced run = run_traced("right_a_graph_of_many_kinds");
  CHECK(run.outcome.complains(": 2 operations, busy"));  // nodes are parts of these

  std::uint64_t stream = 0;
  std::vector<Slice> launches;
  for_each_slice(run.trace, [&](std::uint64_t track, const Slice& slice) {
    if (slice.name != "launch_graph") return;
    stream = track;
    launches.push_back(slice);
  });
  REQUIRE(launches.size() == 2);
  CHECK(run.trace.slices.at(stream).size() > 2);
  // The time of a node is a part of its launch's, and is not counted again.
  char busy[64];
  std::snprintf(busy, sizeof busy, ": 2 operations, busy %.3f ms, ", busy_ms(run.trace, stream));
  CHECK(run.outcome.complains(busy));
  CHECK(busy_ms(run.trace, stream) >= 90);
  bool overlaps = false;
  for (const Slice& launch : launches) {
    CHECK(launch.within.empty());
    CHECK(launch.annotations ==
          std::map<std::string, std::uint64_t>{
              {"nodes: kernel", 1}, {"nodes: fill", 1}, {"nodes: host_function", 2}, {"nodes: child_graph", 1}});
    std::map<std::string, Slice> nodes;  // those in the child graph have its name in front
    std::map<std::string, std::uint64_t> tracks;
    for (const auto& [track, slices] : run.trace.slices) {
      if (track != stream && run.trace.parents.at(track) != stream) continue;
      for (const Slice& slice : slices) {
        if (slice.name == "launch_graph" || slice.begin < launch.begin || slice.end > launch.end) continue;
        std::string name = slice.within == "child_graph" ? "child_graph/" + slice.name : slice.name;
        if (nodes.contains(name)) name += " 2";
        CAPTURE(name);
        CHECK(nodes.emplace(name, slice).second);
        tracks[name] = track;
        if (slice.within != "child_graph") CHECK(slice.within == (track == stream ? "launch_graph" : ""));
      }
    }
    REQUIRE(nodes.size() == 8);
    const Slice &fill = nodes["fill"], &function = nodes["host_function 2"], &child = nodes["child_graph"],
                &kernel = nodes["scale"];
    CHECK(fill.annotations.at("bytes") == 4096 * sizeof(float));
    CHECK(nodes["host_function"].begin >= fill.end);
    CHECK(function.begin >= nodes["host_function"].end);
    CHECK(child.begin >= nodes["host_function"].end);
    CHECK(function.end - function.begin >= 45'000'000);
    CHECK(kernel.begin >= function.end);
    CHECK(kernel.begin >= child.end);
    const Slice &inner_fill = nodes["child_graph/fill"], &inner_copy = nodes["child_graph/copy"];
    CHECK(inner_fill.begin >= child.begin);
    CHECK(inner_copy.begin >= inner_fill.end);
    CHECK(inner_copy.end <= child.end);
    CHECK(inner_copy.annotations.at("bytes") == 4096 * sizeof(float));
    CHECK(tracks["child_graph/copy"] == tracks["child_graph"]);
    CHECK(nodes["child_graph/host_function"].begin >= function.end);
    // Unless no thread was free for 50 ms, the other branch runs while the host function sleeps.
    if (child.begin >= function.end) continue;
    overlaps = true;
    CHECK(tracks["child_graph"] != tracks["host_function 2"]);
    const std::uint64_t below = std::max(tracks["child_graph"], tracks["host_function 2"]);
    CHECK(run.trace.tracks.at(below) == run.trace.tracks.at(stream) + " branch 2");
  }
  CHECK(overlaps);
}

// For traces of other programs: WEIR_TEST_TRACE=weir.pftrace weir_tool_tests -tc="timeline: a trace that is named*"
TEST_CASE("timeline: a trace that is named" * doctest::skip(std::getenv("WEIR_TEST_TRACE") == nullptr)) {
  const Trace trace = read_trace_of(std::getenv("WEIR_TEST_TRACE"));
  std::size_t slices = 0, arrows = 0, streams = 0;
  for (const auto& [track, of_track] : trace.slices) {
    streams += trace.tracks.at(track).find("stream") != std::string::npos ? 1 : 0;
    slices += of_track.size();
    for (const Slice& slice : of_track) {
      CHECK(slice.end >= slice.begin);
      arrows += slice.flow_ends.size();
    }
  }
  std::printf("tracks %zu, streams %zu, slices %zu, arrows %zu, counters %zu\n", trace.tracks.size(), streams, slices,
              arrows, trace.counters.size());
  CHECK(streams >= 1);
  CHECK(slices >= 1);
}

TEST_CASE("timeline: 4000 more replays of a graph take no more memory") {
  const Traced run = run_traced("many_replays");
  CHECK(run.outcome.complains(": 6000 operations, busy"));
  CHECK_FALSE(run.outcome.complains("have no time"));
  CHECK_FALSE(run.outcome.complains("are not shown"));
  std::map<std::string, int> counts;
  std::size_t arrows = 0;
  for_each_slice(run.trace, [&](std::uint64_t, const Slice& slice) {
    ++counts[slice.name];
    arrows += slice.flow_ends.size();
  });
  CHECK(counts["launch_graph"] == 6000);
  CHECK(counts["fill"] == 18000);
  CHECK(counts["copy"] == 6000);
  CHECK(counts["replay"] == 6000);
  CHECK(arrows == 11999);
}

TEST_CASE("timeline: a program that is killed leaves a trace up to there") {
  const Traced run = run_traced("is_killed", true);
  int fills = 0, open_waits = 0, open_ranges = 0;
  for_each_slice(run.trace, [&](std::uint64_t, const Slice& slice) {
    if (slice.name == "fill" && slice.end != 0) ++fills;
    if (slice.name == "Stream::synchronize" && slice.end == 0) ++open_waits;
    if (slice.name == "until it is killed" && slice.end == 0) ++open_ranges;
  });
  CHECK(fills == 10);
  CHECK(open_waits == 1);
  CHECK(open_ranges == 1);
}

TEST_CASE("timeline: a program that polls, and is killed, leaves its work and few of its questions") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/trace";
  const auto outcome =
      weir::test::run_program("is_killed_as_it_polls", {{"WEIR_TOOLS", "timeline"}, {"WEIR_TIMELINE", file}});
  CHECK(outcome.status != 0);
  CHECK(std::filesystem::file_size(file) < 100000);
  const Trace trace = read_trace_of(file, true);
  int fills = 0;
  for (const auto& [track, slices] : trace.slices) {
    for (const Slice& slice : slices) fills += slice.name == "fill" && slice.end != 0 ? 1 : 0;
  }
  CHECK(fills == 10);
}

TEST_CASE("timeline: work without a time is counted, and told") {
  const Traced run = run_traced("much_at_once");
  CHECK(run.outcome.complains(": 16384 operations, busy"));
  CHECK(run.outcome.complains("  3617 operations have no time: more than 16384 were pending"));
}

TEST_CASE("timeline: an arrow begins in work that was over, and written, when it was waited for") {
  const Traced run = run_traced("a_late_wait");
  std::set<std::uint64_t> flows, flow_ends;
  for_each_slice(run.trace, [&](std::uint64_t, const Slice& slice) {
    if (slice.name == "copy") flow_ends = slice.flow_ends;
    if (slice.name != "awaited") return;
    CHECK(slice.within == "fill");
    flows = slice.flows;
  });
  CHECK(flows.size() == 1);
  CHECK(flows == flow_ends);
}

TEST_CASE("timeline: a file that another process writes is left alone") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/trace";
  const int held = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  REQUIRE(::write(held, "held", 4) == 4);
  const auto outcome = weir::test::run_program("right_halves", {{"WEIR_TOOLS", "timeline"}, {"WEIR_TIMELINE", file}});
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(outcome.complains("another process writes '" + file + "', so this one writes '" + file + "."));
  struct stat status {};
  CHECK(::fstat(held, &status) == 0);
  CHECK(status.st_size == 4);
  ::close(held);
}

TEST_CASE("timeline: a file without a name is a bad variable, and one that cannot be written changes the exit status") {
  const auto refused = [](const std::string& file, int status, const char* text) {
    const auto outcome = weir::test::run_program("right_halves", {{"WEIR_TOOLS", "timeline,race"}, {"WEIR_TIMELINE", file}});
    CAPTURE(outcome.errors);
    CHECK(outcome.status == status);
    CHECK(outcome.complains(text));
  };
  refused("", 1, "reading WEIR_TIMELINE='': it is set but empty");
  refused("/dev/full", 3, "the file '/dev/full' could not be written: No space left on device");
  refused("/dev/full", 3, "weir timeline: the trace is incomplete, because '/dev/full' could not be written");
  refused("/nonexistent/trace", 3, "'/nonexistent/trace' could not be written");
}

TEST_CASE("timeline: tracks and slices have the names that the program gave") {
  const Traced run = run_traced("named_objects");
  CHECK(run.outcome.complains("host:0 stream 'consumer' 0x"));
  std::set<std::string> slices;
  std::string tracks;
  for (const auto& [track, name] : run.trace.tracks) tracks += name + "\n";
  for (const auto& [track, list] : run.trace.slices) {
    for (const Slice& slice : list) slices.insert(slice.name);
  }
  CAPTURE(tracks);
  CHECK(tracks.find("host:0 stream 'consumer' 0x") != std::string::npos);
  CHECK(tracks.find("host:0 stream 'late' 0x") != std::string::npos);
  CHECK(tracks.find("'producer'") == std::string::npos);
  CHECK(slices.contains("reduce"));
  CHECK(slices.contains("Stream::wait 'ready'"));
  CHECK(slices.contains("Stream::launch_host_function 'reduce'"));
}
