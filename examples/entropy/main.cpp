// SPDX-License-Identifier: Apache-2.0
//
// entropy FILE: shows how random each part of a file is. Measures the Shannon entropy of each block on any device and draws
// it: constant data is black, compressed or encrypted data is bright, text and code are in between.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "entropy_map.hpp"
#include "input_file.hpp"
#include "job.hpp"
#include "output_file.hpp"
#include "picture.hpp"
#include "plan.hpp"
#include "progress.hpp"
#include "reference.hpp"
#include "stopwatch.hpp"
#include "weir/weir.hpp"

namespace {

using namespace entropy;

constexpr int success = 0, failure = 1, usage_error = 2, wrong_result = 3;

struct Options {
  std::string file;
  std::string device;
  std::string png;
  Choices choices;
  bool no_png = false;
  bool direct = false;
  bool verify = false;
  bool ceilings = false;
  bool json = false;
  unsigned repeat = 1;
};

/// The speed of the whole job and of its parts alone, in bytes per second. Each is the median of all repetitions.
struct Speeds {
  double job = 0;
  double reading = 0;
  double copying = 0;

  double share() const { return job / std::min(reading, copying); }
};

struct Outcome {
  explicit Outcome(const Plan& p) : plan(p), findings{.map = EntropyMap(p)} {}

  Plan plan;
  Findings findings;
  Speeds speeds;
  double setup_seconds = 0;
  bool graphs = false;
  std::string ring;
  std::optional<Comparison> comparison;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

Outcome measure(const Options& options, const InputFile& file, weir::Device& device) {
  const Plan plan = make_plan(options.choices, file.size(), device);
  const Stopwatch setup;
  Job job(device, file, plan);
  Outcome outcome(plan);
  outcome.setup_seconds = setup.seconds();
  outcome.graphs = job.replays_graphs();
  outcome.ring = job.ring_means();

  const auto bytes = static_cast<double>(file.size());
  std::vector<double> jobs, readings, copies;
  if (options.ceilings) job.time_reading();  // fills the page cache, so that all measurements have the same conditions
  for (unsigned i = 0; i < options.repeat; ++i) {
    if (options.ceilings) {
      readings.push_back(bytes / job.time_reading());
      copies.push_back(bytes / job.time_copying());
    }
    std::atomic<std::uint64_t> done{0};
    const Progress progress("measuring", done, file.size());
    const Stopwatch time;
    outcome.findings = job.run(done);
    jobs.push_back(bytes / time.seconds());
  }
  outcome.speeds.job = median(jobs);
  if (options.ceilings) outcome.speeds = {median(jobs), median(readings), median(copies)};
  if (options.verify) {
    std::atomic<std::uint64_t> done{0};
    const Progress progress("verifying", done, file.size());
    outcome.comparison =
        compare(outcome.findings, measure_on_cpu(file, plan, [&](std::uint64_t bytes_done) { done = bytes_done; }));
  }
  return outcome;
}

void print_text(const Options& options, const InputFile& file, const weir::Device& device, const Outcome& outcome) {
  const auto& [plan, findings, speeds, setup, graphs, ring, comparison] = outcome;
  const auto gigabytes = [](double speed) { return fmt::format("{:.2f} GB/s", speed / 1e9); };
  const auto row = [](std::string_view name, const std::string& value) { fmt::print("  {:<11}{}\n", name, value); };

  fmt::print("{}, {}, on {} ({})\n", file.name(), format_bytes(file.size()), device.describe(), device.properties().name);
  row("entropy", fmt::format("{:.6f} bits per byte", findings.entropy()));
  double least = 8, greatest = 0;
  for (std::size_t cell = 0; cell < findings.map.cell_count(); ++cell) {
    least = std::min(least, findings.map.cell(cell));
    greatest = std::max(greatest, findings.map.cell(cell));
  }
  row("blocks", fmt::format("{} of {}, from {:.3f} to {:.3f} bits per byte", plan.blocks(), format_bytes(plan.block_bytes),
                            least, greatest));
  row("time", fmt::format("{:.3f} s, {}; {:.3f} s to set up", static_cast<double>(file.size()) / speeds.job,
                          gigabytes(speeds.job), setup));
  row("how", fmt::format("{} slots of {}, {} reader threads, {}, {}", plan.slots, format_bytes(plan.chunk_bytes),
                         plan.readers, graphs ? "graph replay" : "no graphs: step by step", ring));
  row("memory", fmt::format("{} at most", format_bytes(peak_memory_bytes())));
  if (options.ceilings) {
    row("ceilings", fmt::format("reading alone {}, copying alone {}; the job: {:.0f} % of the slower",
                                gigabytes(speeds.reading), gigabytes(speeds.copying), 100 * speeds.share()));
  }
  if (!options.no_png) row("picture", options.png);
  if (comparison && comparison->agrees) {
    row("verified", fmt::format("all counts equal, entropies within {:.1e} bits (allowed: {:.0e})",
                                comparison->largest_difference, tolerance_bits));
  }
}

void print_json(const Options& options, const InputFile& file, const weir::Device& device, const Outcome& outcome) {
  const auto& [plan, findings, speeds, setup, graphs, ring, comparison] = outcome;
  nlohmann::ordered_json line{
      {"file", file.path()},
      {"bytes", file.size()},
      {"device", device.describe()},
      {"device_name", device.properties().name},
      {"entropy_bits_per_byte", findings.entropy()},
      {"blocks", plan.blocks()},
      {"block_bytes", plan.block_bytes},
      {"chunk_bytes", plan.chunk_bytes},
      {"slots", plan.slots},
      {"readers", plan.readers},
      {"graph_replay", graphs},
      {"ring", ring},
      {"setup_seconds", setup},
      {"seconds", static_cast<double>(file.size()) / speeds.job},
      {"bytes_per_second", speeds.job},
      {"repeat", options.repeat},
      {"peak_memory_bytes", peak_memory_bytes()},
  };
  if (options.ceilings) {
    line["ceilings"] = {{"read_bytes_per_second", speeds.reading},
                        {"copy_bytes_per_second", speeds.copying},
                        {"share_of_the_slower", speeds.share()}};
  }
  if (!options.no_png) line["picture"] = options.png;
  if (comparison) {
    line["verified"] = {{"agrees", comparison->agrees},
                        {"largest_difference_bits", comparison->largest_difference},
                        {"allowed_bits", tolerance_bits}};
  }
  fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

int run(Options options) {
  const InputFile file(options.file, options.direct);
  if (options.png.empty()) options.png = file.name() + ".entropy.png";
  std::optional<OutputFile> picture;  // created here, so that an unwritable path is refused before the work starts
  if (!options.no_png) picture.emplace(options.png, file);
  weir::Device& device = options.device.empty() ? weir::default_device() : weir::device(options.device);

  const Outcome outcome = measure(options, file, device);
  if (picture) picture->write(draw(outcome.findings, file.name()).png());
  (options.json ? print_json : print_text)(options, file, device, outcome);
  if (std::fflush(stdout) != 0)
    throw std::runtime_error(fmt::format("the result cannot be written: {}", std::strerror(errno)));
  if (outcome.comparison && !outcome.comparison->agrees) {
    fmt::print(stderr, "entropy: the device's result is wrong: {}\n", outcome.comparison->difference);
    return wrong_result;
  }
  return success;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures and draws the entropy of a file, block by block, on a GPU or the CPU.");
  app.add_option("file", options.file, "The file to measure, of any size");
  const auto not_empty = [](const std::string& text) {
    return std::string(text.empty() ? "it is empty; omit the option for the default" : "");
  };
  const auto power_of_two = [](const std::string& text) {  // checks only that it is a number; make_plan checks the range
    const bool is_number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
    return is_number ? "" : fmt::format("'{}' is not a power of two from 256 to 32768", text);
  };
  app.add_option("--device", options.device, "Device, such as cuda:0, hip or host (default: what WEIR_BACKEND chooses)")
      ->check(not_empty);
  app.add_option("--png", options.png, "Where the picture goes (default: NAME.entropy.png in the current folder)")
      ->check(not_empty);
  app.add_flag("--no-png", options.no_png, "Draw no picture")->excludes("--png");
  app.add_option("--block", options.choices.block_bytes, "Bytes for one entropy value: a power of two from 256 to 32768")
      ->check(power_of_two);
  app.add_option("--chunk", options.choices.chunk_bytes, "Bytes that are copied at a time: a power of two")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--slots", options.choices.slots, "Chunks in flight, each with a stream of its own")
      ->check(CLI::Range(1, 64));
  app.add_option("--readers", options.choices.readers, "Threads that read the file")->check(CLI::Range(1, 256));
  app.add_flag("--direct", options.direct, "Read past the page cache (O_DIRECT)");
  app.add_flag("--verify", options.verify, "Compare with a plain computation on the CPU; exit status 3 if they differ");
  app.add_flag("--ceilings", options.ceilings, "Also time the reading alone and the copying alone");
  app.add_option("--repeat", options.repeat, "Repeat the measurement and give the medians")->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "Print one line of JSON");
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("entropy: {}\nusage: entropy FILE [OPTION]…; entropy --help lists the options\n", error.what());
  });
  try {
    app.parse(argc, argv);
    if (options.file.empty()) throw CLI::ValidationError("a file is missing", CLI::ExitCodes::RequiredError);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? success : usage_error;  // 0: --help
  }
  try {
    return run(options);
  } catch (const std::invalid_argument& error) {  // an option has an invalid value
    fmt::print(stderr, "entropy: {}\n", error.what());
    return usage_error;
  } catch (const std::exception& error) {
    fmt::print(stderr, "entropy: {}\n", error.what());
    return failure;
  }
}
