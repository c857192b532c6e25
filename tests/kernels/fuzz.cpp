// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/child_process.hpp"
#include "backends/host/temporary_folder.hpp"
#include "tests/kernels/fuzz_generator.hpp"
#include "tests/kernels/fuzz_reference.hpp"
#include "weir/weir.hpp"

/// weir_kernel_fuzz [--rounds=2] [--seconds=0] [--steps=0] [--seed=1]: random kernels with nested barriers, loops and
/// divergence, run as the host backend runs them and with a fiber for each thread. All numbers must be equal. A source that
/// differs is printed with its seed. It ends when so many sources were run, for so long, and threads have taken so many
/// steps, which are statements.
namespace {

constexpr unsigned kernels_in_a_source = 12;

/// The same source, with a fiber for each thread.
class Fibers {
 public:
  using Kernel = void(unsigned*, unsigned);

  Fibers(const std::string& source, const std::string& folder) {
    const std::string path = folder + "/fibers";
    std::ofstream(path + ".cpp") << weir::test::fuzz_reference << source;
    const char* const chosen = ::getenv("WEIR_HOST_CXX");
    const std::string compiler = chosen != nullptr ? chosen : "/usr/bin/c++";
    const auto outcome = weir::host::run_child({compiler, "-std=c++17", "-O1", "-w",
                                                "-fPIC", "-shared", path + ".cpp", "-o", path + ".so"},
                                               folder, {"PATH=/usr/local/bin:/usr/bin:/bin"});
    if (outcome.status != 0) throw std::runtime_error("the reference does not compile:\n" + outcome.output);
    handle_ = ::dlopen((path + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
    run_ = reinterpret_cast<Run*>(::dlsym(handle_, "weir_run_fibers"));
    steps_ = static_cast<unsigned long long*>(::dlsym(handle_, "weir_steps"));
  }
  ~Fibers() { ::dlclose(handle_); }
  Fibers(const Fibers&) = delete;

  std::vector<unsigned> run(const std::string& name, unsigned blocks, unsigned threads, unsigned n) {
    std::vector<unsigned> out(std::size_t{blocks} * threads);
    const int failed = run_(reinterpret_cast<Kernel*>(::dlsym(handle_, name.c_str())), blocks, threads, out.data(), n);
    if (failed != 0)
      throw std::runtime_error("the reference's threads wait for each other for ever: the generator is wrong");
    return out;
  }

  unsigned long long steps() const { return *steps_; }

 private:
  using Run = int(Kernel*, unsigned, unsigned, unsigned*, unsigned);
  void* handle_ = nullptr;
  Run* run_ = nullptr;
  const unsigned long long* steps_ = nullptr;
};

std::vector<unsigned> run_split(const weir::ModulePtr& module, const std::string& name, unsigned blocks, unsigned threads,
                                unsigned n) {
  weir::Device& device = module->device();
  const auto out = device.allocate<unsigned>(std::size_t{blocks} * threads);
  const auto stream = device.create_stream();
  stream->fill(out, 0U);
  stream->launch(module->kernel(name), {.grid = {blocks}, .block = {threads}}, out, n);
  stream->synchronize();
  return {out.data(), out.data() + out.size()};
}

// True if all kernels of the source that this seed makes agree. Adds the steps of their threads to `steps`.
bool round(std::uint64_t seed, const std::string& folder, unsigned long long& steps) {
  std::string source = weir::test::fuzz_functions;
  std::vector<std::string> kernels;
  for (unsigned k = 0; k < kernels_in_a_source; ++k) {
    kernels.push_back(weir::test::random_kernel(fmt::format("k{}", k), seed * kernels_in_a_source + k));
    source += kernels.back();
  }
  try {
    Fibers fibers(source, folder);
    const auto module = weir::device("host:0").compile(source, {.defines = {{"COUNT_STEP", ""}}});
    for (unsigned k = 0; k < kernels_in_a_source; ++k) {
      for (const unsigned threads : {128U, 32U, 70U, 1U}) {
        for (const unsigned n : {0U, 5U, 1000003U}) {
          const std::string name = fmt::format("k{}", k);
          const auto expected = fibers.run(name, 2, threads, n);
          std::vector<unsigned> given;
          std::string error;
          try {
            given = run_split(module, name, 2, threads, n);
          } catch (const weir::Error& e) {
            error = e.what();
          }
          if (given == expected) continue;
          std::size_t at = 0;
          while (error.empty() && given[at] == expected[at]) ++at;
          fmt::print(
              "seed {}, kernel {}, {} threads, n = {}: {}\n{}{}", seed, name, threads, n,
              error.empty() ? fmt::format("thread {} gives {} and should give {}", at, given[at], expected[at]) : error,
              weir::test::fuzz_functions, kernels[k]);
          return false;
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
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    unsigned long* const option = name == "--rounds"    ? &rounds
                                  : name == "--seconds" ? &seconds
                                  : name == "--steps"   ? &wanted_steps
                                  : name == "--seed"    ? &seed
                                                        : nullptr;
    if (option == nullptr || equals == word.npos) {
      fmt::print(stderr, "there is no option '{}': --rounds=N, --seconds=N, --steps=N, --seed=N\n", word);
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
    failures += round(seed + done, folder.path(), steps) ? 0 : 1;
    if (failures > 20) break;
    fmt::print("seed {}: {} kernels, {} steps of threads, {} s, {} failures\n", seed + done,
               (done + 1) * kernels_in_a_source, steps, elapsed(), failures);
    std::fflush(stdout);
  }
  return failures == 0 ? 0 : 1;
}
