// SPDX-License-Identifier: Apache-2.0
#include "compile.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string_view>
#include <system_error>

#include "backends/cache/seal.hpp"
#include "core/base/child_process.hpp"
#include "core/base/program_search.hpp"
#include "core/base/temporary_folder.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "kernels/division.hpp"
#include "options.hpp"
#include "tools/kernels/device_libraries.hpp"
#include "weir/version.hpp"

namespace weir::cxx {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

#if defined(__x86_64__)
constexpr const char* cpu = "x86-64-v3";
#else
constexpr const char* cpu = "armv8.2-a";
#endif

/// A step failed. Its messages have been printed.
class Failed : public std::exception {};

/// The machine lacks something that the command needs. Contains the remedy.
class Missing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), "writing " + path.string());
}

/// Clang, with the parts of Weir that it needs.
struct Toolchain {
  std::string clang;   ///< clang++
  fs::path pass;       ///< the work-group pass for this Clang
  fs::path headers;    ///< the headers in place of CUDA's
  fs::path libraries;  ///< the folder of libweir_cudart
};

// The folder of libweir. The headers and the pass lie below it.
fs::path library_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&weir::version), &info) == 0) return {};
  return fs::weakly_canonical(info.dli_fname).parent_path();
}

fs::path pass_for(const fs::path& libraries, int major) {
  const std::string name = fmt::format("weir_workgroup-{}.so", major);
  for (const fs::path& path : {libraries / WEIR_PLUGIN_FOLDER / name, libraries / name}) {
    if (fs::exists(path)) return path;
  }
  return {};
}

int major_version(const std::string& clang) {
  Words environment = detail::program_environment(clang);
  const std::string output = detail::run_child({clang, "-dumpversion"}, "/", environment).output;
  int major = 0;
  std::from_chars(output.data(), output.data() + output.size(), major);
  return major;
}

Toolchain find_toolchain() {
  Toolchain chain;
  chain.libraries = library_folder();
  chain.headers = chain.libraries / "weir/cudart/include";
  if (!fs::exists(chain.headers / "cuda_runtime.h")) {
    throw Missing(
        fmt::format("the headers in place of CUDA's are not in {}; install Weir's development files (Debian: libweir-dev)",
                    chain.headers.string()));
  }
  const char* const chosen = std::getenv("WEIR_HOST_CXX");
  if (chosen != nullptr && *chosen != 0) {
    chain.clang = chosen;
    chain.pass = pass_for(chain.libraries, major_version(chain.clang));
    if (chain.pass.empty()) {
      throw Missing(
          fmt::format("WEIR_HOST_CXX={} is not a Clang for which {} has a work-group pass; set it to a clang++ of "
                      "such a version, or unset it",
                      chain.clang, chain.libraries.string()));
    }
    return chain;
  }
  for (int major = 30; major >= 16; --major) {
    chain.pass = pass_for(chain.libraries, major);
    if (chain.pass.empty()) continue;
    for (const std::string& name : {fmt::format("clang++-{}", major), std::string("clang++")}) {
      chain.clang = detail::find_program(name);
      if (!chain.clang.empty() && major_version(chain.clang) == major) return chain;
    }
  }
  throw Missing(
      fmt::format("no Clang of version 16 or later was found for which {} has a work-group pass; install one "
                  "(Debian: apt-get install clang-19), or set WEIR_HOST_CXX to its clang++",
                  chain.libraries.string()));
}

class Compilation {
 public:
  Compilation(const Options& options, const Toolchain& chain) : options_(options), chain_(chain) {
    for (char** variable = environ; *variable != nullptr; ++variable) environment_.emplace_back(*variable);
  }

  void run() {
    Words objects;
    for (const std::string& source : options_.cuda_sources) {
      const std::string object = object_of(source, objects.size());
      compile(source, object);
      objects.push_back(object);
    }
    for (const std::string& source : options_.host_sources) {
      const std::string object = object_of(source, objects.size());
      Words command = {chain_.clang};
      if (source.ends_with(".c")) command.insert(command.end(), {"-x", "c"});
      append(command, {"-isystem", chain_.headers.string()});
      for (const Words* options : {&options_.both, &options_.host}) {
        // As nvcc does, leave out a standard of C++ for a file in C.
        std::copy_if(options->begin(), options->end(), std::back_inserter(command), [&](const std::string& option) {
          return !source.ends_with(".c") || !option.starts_with("-std=") || option.find("++") == option.npos;
        });
      }
      if (options_.step == Step::explain)
        append(command, {"-fsyntax-only", source});
      else
        append(command, {"-c", source, "-o", object});
      succeed(command);
      objects.push_back(object);
    }
    if (options_.step == Step::link) link(objects);
  }

 private:
  static void append(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }

  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string object_of(const std::string& source, std::size_t number) const {
    if (options_.step != Step::object) return file(fmt::format("{}-{}.o", fs::path(source).stem().string(), number));
    return options_.output.empty() ? fs::path(source).stem().string() + ".o" : options_.output;
  }

  detail::ChildOutcome call(const Words& command) const {
    if (options_.verbose) std::fprintf(stderr, "%s\n", fmt::format("{}", fmt::join(command, " ")).c_str());
    return detail::run_child(command, fs::current_path().string(), environment_);
  }

  // Runs a command, and prints its messages. Returns them.
  std::string succeed(const Words& command) const {
    detail::ChildOutcome outcome = call(command);
    if (outcome.status != 0) {
      std::fputs(outcome.output.c_str(), stderr);
      throw Failed();
    }
    return std::move(outcome.output);
  }

  // The words that select the language of a file with host and device code, and the headers in place of CUDA's.
  Words language(const char* kind, const char* architecture) const {
    Words words = {chain_.clang, "-x", kind};
    if (std::string_view(kind) == "cuda") {
      append(words, {"-nocudainc", "-nocudalib", "--cuda-path=/none", "-Xclang", "-target-sdk-version=12.0",
                     std::string("--cuda-gpu-arch=") + architecture});
    } else {
      append(words, {"-nogpuinc", std::string("--offload-arch=") + architecture});
    }
    append(words, {"-fdeclspec", "-Wno-unknown-cuda-version", "-Wno-unused-command-line-argument", "-isystem",
                   chain_.headers.string(), "-include", "cuda_runtime.h"});
    // The halves give static variables of the device the same names.
    append(words, {"-Xclang", "-cuid=" + unit_});
    if (options_.per_thread_streams) append(words, {"-Xclang", "-fgpu-default-stream=per-thread"});
    append(words, options_.both);
    return words;
  }

  void compile(const std::string& source, const std::string& object) {
    unit_ = fmt::format("{:x}", std::hash<std::string>()(fs::absolute(source).string()));
    detail::BundleWriter bundle;
    bundle.add(detail::record::source, fs::path(source).filename().string(), std::string_view());
    const bool explains = options_.step == Step::explain;
    auto targets = options_.targets;
    if (targets.empty()) targets = {{"host", ""}, {"cuda", ""}};
    for (auto& [backend, architecture] : targets) {
      if (architecture.empty()) architecture = backend == "host" ? cpu : backend == "cuda" ? options_.nvidia : "";
      if (architecture.empty()) throw UsageError("--for hip needs an architecture, such as 'hip gfx90a'");
      try {
        const std::string image =
            backend == "host" ? image_for_cpu(source, architecture) : image_for_gpu(source, backend, architecture);
        if (!explains) bundle.add(detail::record::image, backend + " " + architecture, std::string_view(image));
      } catch (const Missing& missing) {
        if (!options_.targets.empty()) throw;
        std::fprintf(stderr, "weir c++: note: %s: left out the device code for %s %s: %s\n", source.c_str(), backend.c_str(),
                     architecture.c_str(), missing.what());
      }
    }
    Words command = language("cuda", "sm_70");
    command.insert(command.begin() + 1, "--cuda-host-only");
    append(command, options_.host);
    if (explains) {
      append(command, {"-fsyntax-only", "-ferror-limit=0", source});
    } else {
      const std::vector<std::byte> bytes = bundle.bundle();
      const std::string images = file("images");
      write_file(images, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      append(command, {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", images, "-c", source, "-o", object});
    }
    std::fputs(succeed(command).c_str(), stderr);
  }

  // Compiles the device half for the CPU, with the work-group pass, to a shared library.
  std::string image_for_cpu(const std::string& source, const std::string& architecture) {
    Words command = language("cuda", "sm_70");
    command.insert(command.begin() + 1, "--cuda-host-only");
    // The pass finds the kernels' parameters through debug information; then it keeps the lines only.
    append(command, {"-w", "-Xclang", "-fcuda-is-device", "-Xclang", "-fcuda-allow-variadic-functions", "-fPIC",
                     "-fvisibility=hidden", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing",
                     "-fno-semantic-interposition", "-ftls-model=local-dynamic", "-march=" + architecture,
                     "-fno-strict-float-cast-overflow", "-Xclang", "-no-enable-noundef-analysis", "-fstack-clash-protection",
                     options_.fuse ? "-ffp-contract=fast" : "-ffp-contract=off"});
    if (options_.fast_math)
      append(command,
             {"-fno-signed-zeros", "-fassociative-math", "-freciprocal-math", "-fapprox-func", "-D__FAST_MATH__=1"});
    if (options_.step == Step::explain) {
      append(command, {"-fsyntax-only", "-ferror-limit=0", source});
      succeed(command);
      return {};
    }
    append(command,
           {"-O3", "-g", "-gdwarf-4", "-fstandalone-debug", "-Xclang", "-fexperimental-assignment-tracking=disabled",
            "-mllvm", "-runtime-memory-check-threshold=100", "-mllvm", "-inline-threshold=2000",
            "-fpass-plugin=" + chain_.pass.string(), "-Rpass-missed=weir-workgroup"});
#if defined(__x86_64__)
    append(command, {"-fveclib=libmvec", "-fno-integrated-as"});  // the division macros are for the GNU assembler
#endif
    const std::string assembly = file("device.s"), object = file("device.o"), library = file("device.so");
    const auto run = [&](const char* kept) {
      Words words = command;
      append(words, {std::string("-DWEIR_KEPT=") + kept, "-S", source, "-o", assembly});
      return succeed(words);
    };
    // The code for fibers is added only if a kernel needs it.
    if (run("").find(" runs on fibers: ") != std::string::npos) run("__attribute__((used))");
    // Integer division is as on a GPU: it never ends the program.
    write_file(file("whole.s"), std::string(host::division) + read_file(assembly));
    const std::string assembler = detail::find_program("as");
    if (assembler.empty()) throw Missing("no assembler was found; install binutils");
    succeed({assembler, file("whole.s"), "-o", object});
    const detail::ChildOutcome linked = call({chain_.clang, "-shared", "-static-libgcc", "-Wl,-Bsymbolic", "-Wl,-z,defs",
                                              "-Wl,--compress-debug-sections=zlib", object, "-o", library});
    if (linked.status != 0) refuse_undefined(source, linked.output, R"(undefined reference to `([^']+)')");
    const std::string bytes = read_file(library);
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    std::vector<std::byte> image(begin, begin + bytes.size());
    cache::seal(image);
    return {reinterpret_cast<const char*>(image.data()), image.size()};
  }

  // Reports functions and variables of the device that this file uses and does not define.
  [[noreturn]] void refuse_undefined(const std::string& source, const std::string& output, const char* pattern) const {
    const std::regex undefined(pattern);
    std::set<std::string> names;
    for (std::sregex_iterator at(output.begin(), output.end(), undefined), end; at != end; ++at) names.insert((*at)[1]);
    if (names.empty()) {
      std::fputs(output.c_str(), stderr);
    } else {
      std::fprintf(stderr,
                   "%s: error: device code uses %s, which this file does not define; put the device code of a kernel into "
                   "one file, for example by #include (docs/cuda-programs.md)\n",
                   source.c_str(), fmt::format("{}", fmt::join(names, ", ")).c_str());
    }
    throw Failed();
  }

  std::string image_for_gpu(const std::string& source, const std::string& backend, const std::string& architecture) {
    const bool nvidia = backend == "cuda";
    const std::string number = architecture.substr(architecture.find('_') + 1);
    Words command = nvidia ? language("cuda", ("sm_" + number).c_str()) : language("hip", architecture.c_str());
    append(command, {"--cuda-device-only", "-w", "-O3", "-fno-strict-aliasing", "-Xclang", "-fcuda-allow-variadic-functions",
                     "-Xclang", "-no-enable-noundef-analysis", options_.fuse ? "-ffp-contract=fast" : "-ffp-contract=off"});
    if (options_.fast_math) append(command, {"-ffast-math"});
    const std::string image = file("image");
    if (options_.step == Step::explain) {
      append(command, {"-fsyntax-only", "-ferror-limit=0", source});
      if (!nvidia) append(command, {"-nogpulib"});
      succeed(command);
      return {};
    }
    if (nvidia) {
      // PTX of CUDA 11.8, which the oldest driver that Weir supports reads.
      append(command, {"-Xclang", "-target-feature", "-Xclang", "+ptx78", "-S"});
    } else {
      append(command, {"--no-gpu-bundle-output", "-mcode-object-version=4"});
    }
    append(command, {source, "-o", image});
    try {
      return nvidia ? ptx(source, command, image) : code_object(source, command, architecture, image);
    } catch (const std::runtime_error& missing) {
      throw Missing(missing.what());
    }
  }

  std::string ptx(const std::string& source, Words command, const std::string& image) const {
    const auto lacking = [&] { return kernel_tool::undefined_in_ptx(read_file(image)); };
    succeed(command);
    std::set<std::string> names = lacking();
    if (!names.empty() && names.lower_bound("__nv_") != names.end() && names.lower_bound("__nv_")->starts_with("__nv_")) {
      append(command, {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", kernel_tool::libdevice().string()});
      succeed(command);
      names = lacking();
    }
    std::string undefined;
    for (const std::string& name : names) undefined += "`" + name + "'\n";
    if (!names.empty()) refuse_undefined(source, undefined, "`([^']+)'");
    // The driver reads PTX as a string.
    return read_file(image) + '\0';
  }

  std::string code_object(const std::string& source, Words command, const std::string& architecture,
                          const std::string& image) const {
    Words without = command;
    append(without, {"-nogpulib"});
    detail::ChildOutcome outcome = call(without);
    if (outcome.status != 0 && outcome.output.find("undefined") != std::string::npos) {
      append(command, {"--rocm-device-lib-path=" + kernel_tool::rocm_device_libraries(architecture).string()});
      outcome = call(command);
    }
    if (outcome.status != 0) refuse_undefined(source, outcome.output, R"(undefined (?:hidden )?symbol: ([\w$]+))");
    return read_file(image);
  }

  void link(const Words& objects) const {
    Words command = {chain_.clang};
    append(command, objects);
    append(command, options_.link_inputs);
    append(command, {"-L" + chain_.libraries.string(), "-lweir_cudart", "-Wl,-rpath," + chain_.libraries.string(), "-o",
                     options_.output.empty() ? "a.out" : options_.output});
    std::fputs(succeed(command).c_str(), stderr);
  }

  const Options& options_;
  const Toolchain& chain_;
  Words environment_;
  std::string unit_;  // identifies the file that is being compiled
  const detail::TemporaryFolder folder_;
};

}  // namespace

int run(const std::vector<std::string>& words) {
  if (words.empty() || words.front() == "--help") {
    std::fputs(help, words.empty() ? stderr : stdout);
    return words.empty() ? 2 : 0;
  }
  try {
    const Options options = parse(words);
    if (!options.ignored.empty())
      std::fprintf(stderr, "weir c++: note: ignored: %s\n", fmt::format("{}", fmt::join(options.ignored, ", ")).c_str());
    const Toolchain chain = find_toolchain();
    Compilation(options, chain).run();
    return 0;
  } catch (const Failed&) {
    return 1;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "weir c++: %s; weir c++ --help lists the options\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir c++: %s\n", error.what());
    return 1;
  }
}

}  // namespace weir::cxx
