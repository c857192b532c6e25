// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/host/compile/compiler.hpp"
#include "core/base/child_process.hpp"
#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

/// Tests when the compiler runs. The tests' compiler writes a line for each call.
namespace weir::test {
namespace {

namespace fs = std::filesystem;

class CountingCompiler {
 public:
  CountingCompiler()
      : path_(folder_.path() + "/c++"),
        cache_("WEIR_CACHE_DIR", (folder_.path() + "/cache").c_str()),
        real_(host::find_compiler().path),
        calls_at_first(host::find_compiler().is_gcc ? 3 : 2) {
    write();
    chosen_.emplace("WEIR_HOST_CXX", path_.c_str());
  }
  /// Also changes what the compiler is, as an update does.
  void write(const std::string& comment = "") const {
    std::ofstream(path_) << "#!/bin/sh\n# " << comment << "\n[ \"$1\" = --version ] || echo \"$@\" >> " << log() << "\nexec "
                         << real_ << " \"$@\"\n";
    fs::permissions(path_, fs::perms::owner_all);
  }
  std::string log() const { return folder_.path() + "/log"; }
  std::string cache() const { return folder_.path() + "/cache"; }
  int calls() const {
    std::ifstream file(log());
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  /// What a process of its own makes of it: "2 s + 5" for the summand s, as main.cpp says.
  detail::ChildOutcome run(const std::string& summand) const {
    return detail::run_child({fs::read_symlink("/proc/self/exe").string(), "--compile-and-run", summand}, "/",
                             own_environment());
  }
  /// How often the compiler is called for it.
  int calls_of(const std::string& summand) const {
    const int before = calls();
    const detail::ChildOutcome outcome = run(summand);
    CHECK(outcome.output == std::to_string(2 * std::stoi(summand) + 5) + "\n");
    return calls() - before;
  }

 private:
  detail::TemporaryFolder folder_;
  std::string path_;
  Variable cache_;
  std::string real_;
  std::optional<Variable> chosen_;

 public:
  const int calls_at_first;  ///< to preprocess, to compile and, if it is GCC, to link
};

TEST_CASE("a source that includes nothing is found again without the compiler") {
  const CountingCompiler compiler;
  CHECK(compiler.calls_of("1") == compiler.calls_at_first);
  CHECK(compiler.calls_of("1") == 0);
  CHECK(compiler.calls_of("2") == compiler.calls_at_first);
  compiler.write("an update");
  CHECK(compiler.calls_of("1") == compiler.calls_at_first);
}

TEST_CASE("a damaged entry is compiled again") {
  const CountingCompiler compiler;
  compiler.calls_of("1");
  for (const auto& entry : fs::directory_iterator(compiler.cache() + "/host")) {
    fs::resize_file(entry.path(), entry.file_size() - 100);
  }
  const int before = compiler.calls();
  const detail::ChildOutcome outcome = compiler.run("1");
  CHECK(has(outcome.output, "it is compiled again"));
  CHECK(has(outcome.output, "7\n"));
  CHECK(compiler.calls() - before == compiler.calls_at_first);
  CHECK(compiler.calls_of("1") == 0);
}

TEST_CASE("processes that compile the same at once all get it right") {
  const CountingCompiler compiler;
  std::vector<detail::ChildOutcome> outcomes(6);
  std::vector<std::thread> threads;
  for (auto& outcome : outcomes) threads.emplace_back([&] { outcome = compiler.run("20"); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& outcome : outcomes) {
    CHECK(outcome.status == 0);
    CHECK(outcome.output == "45\n");
  }
  CHECK(std::distance(fs::directory_iterator(compiler.cache() + "/host"), fs::directory_iterator()) == 1);
  CHECK(compiler.calls_of("20") == 0);
}

TEST_CASE("a cache that cannot be written is no obstacle") {
  const CountingCompiler compiler;
  std::ofstream(compiler.cache()) << "a file in the folder's place";
  const detail::ChildOutcome outcome = compiler.run("1");
  CHECK(has(outcome.output, "7\n"));
  CHECK(has(outcome.output, "WEIR_CACHE_DIR"));
}

TEST_CASE("a source that includes a header is preprocessed each time and compiled once") {
  const CountingCompiler compiler;
  CompileOptions options;
  options.defines = {{"UNIQUE", std::to_string(::getpid())}};
  for (const int expected : {compiler.calls_at_first, 1}) {
    const int before = compiler.calls();
    (void)host().compile("#include <stdint.h>\nextern \"C\" __global__ void k(int32_t* x) { *x = UNIQUE; }", options);
    CHECK(compiler.calls() - before == expected);
  }
}

}  // namespace
}  // namespace weir::test
