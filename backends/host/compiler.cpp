// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compiler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/host/child_process.hpp"
#include "backends/host/kernel.hpp"
#include "weir/backend_support.hpp"

namespace weir::host {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Asks a program for its version. Throws std::runtime_error if it does not answer like a compiler.
Compiler ask(const std::string& path) {
  const ChildOutcome answer = run_child({path, "--version"}, "/", compiler_environment(path));
  if (answer.status != 0 || answer.output.empty()) {
    throw std::runtime_error(
        fmt::format("'{} --version' failed with status {}: {}", path, answer.status, first_line(answer.output)));
  }
  Compiler compiler;
  compiler.path = path;
  compiler.version = first_line(answer.output);
  compiler.is_gcc = answer.output.find("Free Software Foundation") != std::string::npos;
  compiler.identity = answer.output;
  return compiler;
}

// The compiler at a path. Asks again if the file has changed. Throws std::runtime_error with the reason.
Compiler compiler_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), X_OK) != 0) {
    throw std::runtime_error(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + ": not a file");
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();
  const std::string state =
      fmt::format("{} {} {} {} {}", path, target, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);

  static std::mutex mutex;
  // Never destroyed: static objects may compile in their destructors.
  static auto& known = *new std::map<std::string, Compiler>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(state);
  if (found != known.end()) return found->second;
  Compiler compiler = ask(path);
  compiler.identity += state;
  return known.emplace(state, std::move(compiler)).first->second;
}

constexpr const char* system_path = "/usr/local/bin:/usr/bin:/bin";

std::vector<std::string> search_path() {
  const std::string path = support::environment("PATH").value_or(system_path);
  std::vector<std::string> folders;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // An empty or relative element would depend on the current folder.
    if (path[begin] == '/') folders.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

// --- Options

bool is_option(const std::string& option, std::string_view name) {
  return option.starts_with(name) &&
         (option.size() == name.size() || option[name.size()] == '=' || option[name.size()] == ' ');
}

// Options that only NVRTC or HIPRTC know.
constexpr std::string_view gpu_options[] = {"--gpu-architecture",
                                            "-arch",
                                            "--offload-arch",
                                            "--gpu-code",
                                            "-code",
                                            "--device-c",
                                            "-dc",
                                            "--device-w",
                                            "-dw",
                                            "--relocatable-device-code",
                                            "-rdc",
                                            "--extensible-whole-program",
                                            "-ewp",
                                            "--device-debug",
                                            "-G",
                                            "--generate-line-info",
                                            "-lineinfo",
                                            "--dopt",
                                            "-dopt",
                                            "--ptxas-options",
                                            "-Xptxas",
                                            "--maxrregcount",
                                            "-maxrregcount",
                                            "--ftz",
                                            "-ftz",
                                            "--prec-sqrt",
                                            "-prec-sqrt",
                                            "--prec-div",
                                            "-prec-div",
                                            "--fmad",
                                            "-fmad",
                                            "--use_fast_math",
                                            "-use_fast_math",
                                            "--extra-device-vectorization",
                                            "-extra-device-vectorization",
                                            "--modify-stack-limit",
                                            "-modify-stack-limit",
                                            "--dlink-time-opt",
                                            "-dlto",
                                            "--gen-opt-lto",
                                            "--define-macro",
                                            "--undefine-macro",
                                            "--include-path",
                                            "--pre-include",
                                            "--no-source-include",
                                            "--builtin-move-forward",
                                            "--builtin-initializer-list",
                                            "--disable-warnings",
                                            "--restrict",
                                            "--device-as-default-execution-space",
                                            "-default-device",
                                            "--device-int128",
                                            "--device-float128",
                                            "--optimization-info",
                                            "--display-error-number",
                                            "--no-display-error-number",
                                            "--diag-error",
                                            "-diag-error",
                                            "--diag-suppress",
                                            "-diag-suppress",
                                            "--diag-warn",
                                            "-diag-warn",
                                            "--brief-diagnostics",
                                            "--split-compile",
                                            "--minimal",
                                            "--device-stack-protector",
                                            "--rocm-path",
                                            "--hip-path",
                                            "--hip-version",
                                            "--cuda-device-only",
                                            "--cuda-gpu-arch",
                                            "-fgpu-rdc",
                                            "-mcumode",
                                            "-mwavefrontsize64",
                                            "-munsafe-fp-atomics"};

// Options that make a compilation do something else, and options that Weir passes itself.
constexpr std::string_view reserved_options[] = {"-c", "-E", "-S", "-P", "-C", "-CC", "-###", "-shared", "-static", "-pie",
                                                 "-fsyntax-only", "-save-temps", "--save-temps", "--version", "--help"};
constexpr std::string_view reserved_prefixes[] = {"-o", "-x", "-M", "-d", "@"};

// Options whose value is the next argument.
constexpr std::string_view options_with_value[] = {
    "-include", "-imacros",  "-isystem", "-iquote", "-idirafter",     "-I",          "-D",     "-U",
    "-L",       "-l",        "-Xlinker", "-Xclang", "-Xpreprocessor", "-Xassembler", "-mllvm", "--param",
    "-target",  "-isysroot", "--sysroot"};

template <class Names>
bool is_one_of(const std::string& option, const Names& names) {
  return std::find(std::begin(names), std::end(names), option) != std::end(names);
}

void check_extra(const std::vector<std::string>& extra) {
  for (std::size_t i = 0; i < extra.size(); ++i) {
    const std::string& option = extra[i];
    if (std::any_of(std::begin(gpu_options), std::end(gpu_options), [&](auto name) { return is_option(option, name); })) {
      throw std::invalid_argument(
          fmt::format("the option '{}' is one of NVRTC or HIPRTC; give it only if device.backend().name() is "
                      "\"cuda\" or \"hip\"",
                      option));
    }
    const bool reserved = is_one_of(option, reserved_options) ||
                          std::any_of(std::begin(reserved_prefixes), std::end(reserved_prefixes),
                                      [&](auto prefix) { return option.starts_with(prefix); });
    if (reserved || option.empty() || option[0] != '-' || option.find('\0') != std::string::npos) {
      throw std::invalid_argument(
          fmt::format("'{}' cannot be an extra option: what is read and what is written is Device::compile's "
                      "business",
                      option));
    }
    if (is_one_of(option, options_with_value) && ++i == extra.size()) {
      throw std::invalid_argument(fmt::format("the option '{}' lacks its value", option));
    }
  }
}

}  // namespace

std::span<const char* const> search_variables() noexcept {
  static constexpr const char* variables[] = {"CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"};
  return variables;
}

std::vector<std::string> compiler_environment(const std::string& compiler) {
  std::string path = compiler.substr(0, compiler.rfind('/'));
  if (!path.empty()) path += ':';
  for (const std::string& folder : search_path()) path += folder + ':';
  std::vector<std::string> environment = {"LC_ALL=C", "PATH=" + path + system_path};
  const auto hand_on = [&](const char* variable) {
    if (const auto value = support::environment(variable)) environment.push_back(fmt::format("{}={}", variable, *value));
  };
  hand_on("TMPDIR");
  for (const char* const variable : search_variables()) hand_on(variable);
  return environment;
}

Compiler find_compiler() {
  if (const auto chosen = support::environment_path("WEIR_HOST_CXX")) {
    try {
      return compiler_at(*chosen);
    } catch (const std::runtime_error& reason) {
      throw NoCompiler(fmt::format("WEIR_HOST_CXX names no C++ compiler: {}; name another, or unset it", reason.what()));
    }
  }
  const std::vector<std::string> folders = search_path();
  std::string refusals;
  for (const std::string_view name : {"c++", "g++", "clang++"}) {
    for (const std::string& folder : folders) {
      const std::string path = fmt::format("{}/{}", folder, name);
      if (::access(path.c_str(), F_OK) != 0) continue;
      try {
        return compiler_at(path);
      } catch (const std::runtime_error& reason) {
        refusals += fmt::format("; {}", reason.what());
      }
    }
  }
  throw NoCompiler(
      fmt::format("there is no C++ compiler: none of c++, g++, clang++ can be used from {}{}; install one (on Debian, "
                  "apt-get install g++), or name one in WEIR_HOST_CXX",
                  fmt::join(folders, ":"), refusals));
}

std::string describe_compiler(bool& found) {
  found = false;
  try {
    const Compiler compiler = find_compiler();
    found = true;
    return fmt::format("{}, {}", compiler.version, compiler.path);
  } catch (const NoCompiler& reason) {
    return reason.what();
  }
}

std::vector<std::string> compiler_flags(const Compiler& compiler, std::string_view architecture,
                                        const CompileOptions& options) {
  check_extra(options.extra);
  if (architecture.empty() ||
      architecture.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.+-_") != architecture.npos) {
    throw std::invalid_argument(
        fmt::format("'{}' is no architecture of the host's, which are called as the compiler's option -march= "
                    "calls them: x86-64-v3, armv8.2-a, native",
                    architecture));
  }
  std::vector<std::string> flags = {fmt::format("-std=c++{}", options.cxx_standard), "-fPIC", "-fvisibility=hidden",
                                    // As on a GPU: no exceptions, and functions set no errno.
                                    "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math",
                                    // Kernels often read memory as another type.
                                    "-fno-strict-aliasing", "-fno-semantic-interposition", "-fdiagnostics-color=never"};
  const auto add = [&](std::initializer_list<const char*> more) { flags.insert(flags.end(), more.begin(), more.end()); };
  if (architecture != "native") {
    flags.push_back(fmt::format("-march={}", architecture));
  } else {
#if defined(__x86_64__) || defined(__i386__)
    add({"-march=native"});
#else
    add({"-mcpu=native"});
#endif
  }
  add({"-Wno-narrowing"});  // `int a[2] = {0.0, 1.5}` is a warning of CUDA's compilers
  if (options.debug) {
    add({"-O0", "-g"});
  } else {
    add({"-O3"});
  }
  if (compiler.is_gcc) {
    // Symbols that are unique in the process would prevent the unloading of a module.
    add({"-fno-gnu-unique"});
    // Without these the loop over threads is not vectorized if a kernel has many pointers or a guard with two conditions.
    if (!options.debug) {
      add({"--param=vect-max-version-for-alias-checks=100", "--param=logical-op-non-short-circuit=0"});
    }
  } else {
    add({"-Qunused-arguments"});
#if defined(__x86_64__) || defined(__i386__)
    add({"-fno-integrated-as"});  // divisions are assembler macros: see kernel_prelude_division.hpp
#endif
    if (!options.debug) add({"-mllvm", "-runtime-memory-check-threshold=100", "-mllvm", "-inline-threshold=2000"});
#if defined(__x86_64__)
    if (!options.debug) add({"-fveclib=libmvec"});
#endif
  }
  if (options.fast_math) {
    // Not -ffast-math: linking with it changes the floating-point mode of the thread that loads the module. NaN and infinity
    // stay, as in CUDA.
    add({"-fno-signed-zeros", "-fassociative-math", "-freciprocal-math", "-D__FAST_MATH__=1"});
#if defined(__x86_64__)
    if (!compiler.is_gcc) add({"-fapprox-func"});
#endif
  }
  for (const std::string& folder : options.include_directories) flags.push_back("-I" + folder);
  flags.insert(flags.end(), options.extra.begin(), options.extra.end());
  return flags;
}

std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == "-include" || flags[i] == "-imacros") {
      ++i;
    } else {
      rest.push_back(flags[i]);
    }
  }
  return rest;
}

}  // namespace weir::host
