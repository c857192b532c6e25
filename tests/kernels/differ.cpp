// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/temporary_folder.hpp"
#include "tests/kernels/device_compilers.hpp"
#include "tests/kernels/random_program.hpp"
#include "weir/weir.hpp"

/// Compiles and runs random kernels in several ways. All results must be equal; the first way is the reference. Without
/// --way, the ways are a fiber for each thread, and the backend's own choice.
///
///   --seed=N --rounds=N --seconds=N   programs from this seed on, so many, and until so long has passed
///   --way=NAME=VALUE,…                on the CPU, with those variables set when the program is compiled
///   --way=cuda:0                      on that device
///   --accepts=sm_80                   that NVRTC takes each program, too, without a device
///   --print                           prints the programs and does nothing else
namespace {

using weir::test::program_inputs, weir::test::program_sums;

constexpr unsigned kernels_in_a_program = 4;
struct Launch {
  weir::Dim3 grid, block;
  std::size_t threads() const { return std::size_t{grid.x} * grid.y * block.x * block.y * block.z; }
};
constexpr Launch launches[] = {
    {{2}, {64}}, {{3}, {128}}, {{2}, {33}}, {{2, 2}, {16, 4}}, {{1}, {7, 5}}, {{2}, {4, 3, 3}}, {{1}, {256}}, {{2}, {1}},
};

struct Way {
  std::string device = "host:0";
  std::vector<std::pair<std::string, std::string>> variables;
  std::string text;
};
Way way(const std::string& text) {
  Way w;
  w.text = text;
  if (text.find('=') == text.npos) {
    if (!text.empty()) w.device = text;
    return w;
  }
  for (std::string_view left = text; !left.empty();) {
    const std::string_view one = left.substr(0, left.find(','));
    w.variables.emplace_back(one.substr(0, one.find('=')), one.substr(one.find('=') + 1));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
  }
  return w;
}

/// The results of all kernels and launches, one behind another, or an error.
struct Results {
  std::vector<unsigned> numbers;
  std::string error;
};
Results run(const Way& w, const std::string& program) {
  Results results;
  for (const auto& [name, value] : w.variables) ::setenv(name.c_str(), value.c_str(), 1);
  try {
    weir::Device& device = weir::device(w.device);
    const auto module = device.compile(program, {.name = "program.cu"});
    const auto stream = device.create_stream();
    std::vector<unsigned> in(program_inputs);
    for (unsigned i = 0; i < program_inputs; ++i) in[i] = (i * 2654435761U) >> (i % 20);
    const auto inputs = device.allocate<unsigned>(program_inputs);
    stream->copy(inputs, in);
    for (unsigned k = 0; k < kernels_in_a_program; ++k) {
      const auto kernel = module->untyped_kernel(fmt::format("k{}", k));
      for (const Launch& l : launches) {
        const std::size_t threads = l.threads();
        std::vector<unsigned> out(threads + program_sums);
        const auto outputs = device.allocate<unsigned>(out.size());
        stream->fill(outputs, 0U);
        stream->launch(
            kernel,
            {.grid = l.grid, .block = l.block, .shared_memory_bytes = sizeof(unsigned) * weir::test::program_block_threads},
            outputs.data(), outputs.data() + threads, static_cast<const unsigned*>(inputs.data()), 5U,
            weir::test::ProgramConfig{77, 0x123456789abcdef0ULL, {4, 9, 65535}});
        stream->copy(std::span(out), outputs);
        stream->synchronize();
        results.numbers.insert(results.numbers.end(), out.begin(), out.end());
      }
    }
  } catch (const std::exception& e) {
    results.error = e.what();
  }
  for (const auto& [name, value] : w.variables) ::unsetenv(name.c_str());
  return results;
}

/// Where in the results a number is.
std::string place(std::size_t at) {
  for (unsigned k = 0; k < kernels_in_a_program; ++k) {
    for (const Launch& l : launches) {
      const std::size_t threads = l.threads();
      if (at < threads + program_sums) {
        return fmt::format("k{}, grid {} x {}, block {} x {} x {}, {} {}", k, l.grid.x, l.grid.y, l.block.x, l.block.y,
                           l.block.z, at < threads ? "thread" : "sum", at < threads ? at : at - threads);
      }
      at -= threads + program_sums;
    }
  }
  return "?";
}

bool agree(std::uint64_t seed, std::span<const Way> ways, const std::string& architecture) {
  const std::string program = weir::test::random_program(seed, kernels_in_a_program);
  const auto fails = [&](const std::string& why) {
    fmt::print("{}\nseed {}: {}\n", program, seed, why);
    return false;
  };
  if (!architecture.empty()) {
    try {
      weir::test::compile_for(architecture, program, "program.cu");
    } catch (const std::exception& e) {
      return fails(fmt::format("for {}: {}", architecture, e.what()));
    }
  }
  const Results expected = run(ways[0], program);
  if (!expected.error.empty()) return fails(fmt::format("by '{}': {}", ways[0].text, expected.error));
  for (const Way& w : ways.subspan(1)) {
    const Results given = run(w, program);
    if (!given.error.empty()) return fails(fmt::format("by '{}': {}", w.text, given.error));
    const auto [e, g] = std::mismatch(expected.numbers.begin(), expected.numbers.end(), given.numbers.begin());
    if (e != expected.numbers.end())
      return fails(fmt::format("{}: {} by '{}', {} by '{}'", place(static_cast<std::size_t>(e - expected.numbers.begin())),
                               *e, ways[0].text, *g, w.text));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const weir::detail::TemporaryFolder folder;
  ::setenv("WEIR_CACHE_DIR", folder.path().c_str(), 1);
  std::uint64_t seed = 1;
  unsigned long rounds = 1, seconds = 0;
  std::vector<Way> ways;
  std::string architecture;
  bool print = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string value(word.substr(std::min(word.size(), word.find('=') + 1)));
    if (word.starts_with("--seed=")) {
      seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (word.starts_with("--rounds=")) {
      rounds = std::strtoul(value.c_str(), nullptr, 10);
    } else if (word.starts_with("--seconds=")) {
      seconds = std::strtoul(value.c_str(), nullptr, 10);
    } else if (word.starts_with("--way=")) {
      ways.push_back(way(value));
    } else if (word.starts_with("--accepts=")) {
      architecture = value;
    } else if (word == "--print") {
      print = true;
    } else {
      fmt::print(stderr, "there is no option '{}': --seed=N, --rounds=N, --seconds=N, --way=WAY, --accepts=sm_80, --print\n",
                 word);
      return 2;
    }
  }
  if (ways.empty()) ways = {way("WEIR_HOST_TIER=fibers"), way("")};
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  unsigned long done = 0, failures = 0;
  for (; (done < rounds || elapsed() < static_cast<double>(seconds)) && failures < 10; ++done) {
    if (print) {
      fmt::print("{}", weir::test::random_program(seed + done, kernels_in_a_program));
    } else {
      failures += agree(seed + done, ways, architecture) ? 0 : 1;
    }
  }
  if (!print)
    fmt::print("{} programs of {} kernels, {:.0f} s: {} differ\n", done, kernels_in_a_program, elapsed(), failures);
  return failures == 0 ? 0 : 1;
}
