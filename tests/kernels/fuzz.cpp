// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/child_process.hpp"
#include "backends/host/temporary_folder.hpp"
#include "tests/kernels/fuzz_generator.hpp"
#include "tests/kernels/fuzz_reference.hpp"
#include "weir/weir.hpp"

/// weir_kernel_fuzz [--rounds=2] [--seconds=0] [--steps=0] [--seed=1] [--extra=-O1]: random kernels, run as the host backend
/// runs them, compiled with that option, and with a fiber for each thread. All numbers must be equal. Sources with an odd
/// seed have nested barriers, loops and divergence; those with an even one have loops in which threads do not meet. A source
/// that differs is printed with its seed. It ends when so many sources were run, for so long, and threads have taken so
/// many steps, which are statements.
namespace {

constexpr unsigned kernels_in_a_source = 12;

struct Launch {
  weir::Dim3 grid, block;
  unsigned threads() const { return grid.x * grid.y * block.x * block.y; }
};
constexpr Launch of_blocks[] = {{2, 128}, {2, 32}, {2, 70}, {2, 1}};
constexpr Launch of_rows[] = {{{2, 3}, {16, 4}}, {{3, 2}, {7, 5}}, {{1, 2}, {33, 2}}, {{2, 2}, {1, 9}}};
constexpr Launch of_grids[] = {{5, 32}, {40, 8}, {3, 7}, {2, 100}, {1, 1}};

/// What a kernel is given. `kind` tells which of its arrays are one, or overlap.
struct Memory {
  std::vector<unsigned> all;
  unsigned *out, *x;
  const unsigned *y, *z;
};
constexpr unsigned kinds_of_memory = 4;
Memory memory(unsigned kind, unsigned threads) {
  Memory m;
  m.all.resize(weir::test::fuzz_elements + 3 * weir::test::fuzz_fewer_elements);
  for (std::size_t i = 0; i < m.all.size(); ++i) m.all[i] = static_cast<unsigned>(i * 2654435761U) >> 20;
  m.out = m.all.data();
  m.x = m.out + weir::test::fuzz_elements;
  m.z = m.x + weir::test::fuzz_fewer_elements;
  unsigned* const given = m.x + 2 * weir::test::fuzz_fewer_elements;
  for (unsigned i = 0; i < weir::test::fuzz_fewer_elements; ++i) given[i] %= 128;
  m.y = given;
  if (kind == 1) m.x = m.out;
  if (kind > 1) m.x = m.out + weir::test::fuzz_distance * threads;
  if (kind != 0) m.z = kind == 3 ? m.x : m.out;
  return m;
}

/// The same source, with a fiber for each thread.
class Fibers {
 public:
  using Kernel = void(unsigned*, unsigned, unsigned*, const unsigned*, const unsigned*);

  Fibers(const std::string& source, const std::string& folder) {
    const std::string path = folder + "/fibers";
    std::ofstream(path + ".cpp") << weir::test::fuzz_reference << source;
    const char* const chosen = ::getenv("WEIR_HOST_CXX");
    const std::string compiler = chosen != nullptr ? chosen : "/usr/bin/c++";
    const auto outcome =
        weir::host::run_child({compiler, "-std=c++17", "-O1", "-w", "-fPIC", "-shared", path + ".cpp", "-o", path + ".so"},
                              folder, {"PATH=/usr/local/bin:/usr/bin:/bin"});
    if (outcome.status != 0) throw std::runtime_error("the reference does not compile:\n" + outcome.output);
    handle_ = ::dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
    run_ = reinterpret_cast<Run*>(::dlsym(handle_, "weir_run_fibers"));
    steps_ = static_cast<unsigned long long*>(::dlsym(handle_, "weir_steps"));
  }
  ~Fibers() { ::dlclose(handle_); }
  Fibers(const Fibers&) = delete;

  void run(const std::string& name, const Launch& l, unsigned n, const Memory& m) {
    const int failed = run_(reinterpret_cast<Kernel*>(::dlsym(handle_, name.c_str())), {l.grid.x, l.grid.y, 1},
                            {l.block.x, l.block.y, 1}, m.out, n, m.x, m.y, m.z);
    if (failed != 0)
      throw std::runtime_error("the reference's threads wait for each other for ever: the generator is wrong");
  }

  unsigned long long steps() const { return *steps_; }

 private:
  struct Index {
    unsigned x, y, z;
  };
  using Run = int(Kernel*, Index, Index, unsigned*, unsigned, unsigned*, const unsigned*, const unsigned*);
  void* handle_ = nullptr;
  Run* run_ = nullptr;
  const unsigned long long* steps_ = nullptr;
};

void run_split(const weir::ModulePtr& module, const std::string& name, const Launch& l, unsigned n, const Memory& m) {
  const auto stream = module->device().create_stream();
  stream->launch(module->kernel(name), {.grid = l.grid, .block = l.block}, m.out, n, m.x, m.y, m.z);
  stream->synchronize();
}

// True if all kernels of the source that this seed makes agree. Adds the steps of their threads to `steps`.
bool round(std::uint64_t seed, const std::string& folder, const std::vector<std::string>& extra, unsigned long long& steps) {
  const bool meets = seed % 2 == 1;
  const std::string functions = meets ? weir::test::fuzz_functions : "";
  std::string source = functions;
  std::vector<weir::test::FuzzKernel> kernels;
  for (unsigned k = 0; k < kernels_in_a_source; ++k) {
    kernels.push_back(weir::test::random_kernel(fmt::format("k{}", k), seed * kernels_in_a_source + k, meets));
    source += kernels.back().text;
  }
  try {
    Fibers fibers(source, folder);
    const auto module = weir::device("host:0").compile(source, {.defines = {{"COUNT_STEP", ""}}, .extra = extra});
    for (unsigned k = 0; k < kernels_in_a_source; ++k) {
      const std::span<const Launch> launches = meets             ? std::span<const Launch>(of_blocks)
                                               : kernels[k].rows ? std::span<const Launch>(of_rows)
                                                                 : std::span<const Launch>(of_grids);
      for (const Launch& l : launches) {
        for (const unsigned n : {0U, 5U, meets ? 1000003U : 777U}) {
          for (unsigned kind = 0; kind < (meets ? 1 : kinds_of_memory); ++kind) {
            const std::string name = fmt::format("k{}", k);
            const Memory expected = memory(kind, l.threads()), given = memory(kind, l.threads());
            fibers.run(name, l, n, expected);
            std::string error;
            try {
              run_split(module, name, l, n, given);
            } catch (const weir::Error& e) {
              error = e.what();
            }
            if (error.empty() && given.all == expected.all) continue;
            std::size_t at = 0;
            while (error.empty() && given.all[at] == expected.all[at]) ++at;
            fmt::print("seed {}, kernel {}, {} x {} blocks of {} x {} threads, n = {}, memory {}: {}\n{}{}", seed, name,
                       l.grid.x, l.grid.y, l.block.x, l.block.y, n, kind,
                       error.empty() ? fmt::format("element {} is {} and should be {}", at, given.all[at], expected.all[at])
                                     : error,
                       functions, kernels[k].text);
            return false;
          }
        }
      }
    }
    steps += fibers.steps();
  } catch (const std::exception& e) {
    fmt::print("seed {}: {}\n", seed, e.what());
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* variable :
       {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_HOST_DEVICES", "WEIR_HOST_WARP_SIZE"})
    ::unsetenv(variable);
  const weir::host::TemporaryFolder folder;
  ::setenv("WEIR_CACHE_DIR", folder.path().c_str(), 1);
  unsigned long rounds = 0, seconds = 0, wanted_steps = 0, seed = 1;
  std::vector<std::string> extra;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (name == "--extra" && equals != word.npos) {
      extra.emplace_back(word.substr(equals + 1));
      continue;
    }
    unsigned long* const option = name == "--rounds"    ? &rounds
                                  : name == "--seconds" ? &seconds
                                  : name == "--steps"   ? &wanted_steps
                                  : name == "--seed"    ? &seed
                                                        : nullptr;
    if (option == nullptr || equals == word.npos) {
      fmt::print(stderr, "there is no option '{}': --rounds=N, --seconds=N, --steps=N, --seed=N, --extra=OPTION\n", word);
      return 2;
    }
    *option = std::strtoul(argv[i] + equals + 1, nullptr, 10);
  }
  if (rounds == 0 && seconds == 0 && wanted_steps == 0) rounds = 2;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return static_cast<unsigned long>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count());
  };
  unsigned long failures = 0, done = 0;
  unsigned long long steps = 0;
  for (; done < rounds || elapsed() < seconds || steps < wanted_steps; ++done) {
    failures += round(seed + done, folder.path(), extra, steps) ? 0 : 1;
    if (failures > 20) break;
    fmt::print("seed {}: {} kernels, {} steps of threads, {} s, {} failures\n", seed + done,
               (done + 1) * kernels_in_a_source, steps, elapsed(), failures);
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}
