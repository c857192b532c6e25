// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/compiler.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/child_process.hpp"
#include "core/base/directory.hpp"
#include "core/base/program_search.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The oldest Clang whose CUDA front end is used: that of version 14 needs NVIDIA's toolkit.
constexpr int oldest_cuda_clang = 16;

// Clang's major version, from a text such as "Debian clang version 14.0.6"; 0 if the text has none.
int major_version(const Compiler& compiler) {
  constexpr std::string_view before = "version ";
  const std::size_t at = compiler.version.find(before);
  int major = 0;
  if (at == std::string::npos) return major;
  const char* const begin = compiler.version.data() + at + before.size();
  std::from_chars(begin, compiler.version.data() + compiler.version.size(), major);
  return major;
}

// Runs a program with --version. Throws std::runtime_error if the output is not that of a compiler.
Compiler ask(const std::string& path) {
  const detail::ChildOutcome answer = detail::run_child({path, "--version"}, "/", detail::program_environment(path));
  if (answer.status != 0 || answer.output.empty()) {
    throw std::runtime_error(
        fmt::format("'{} --version' failed with status {}: {}", path, answer.status, first_line(answer.output)));
  }
  Compiler compiler;
  compiler.path = path;
  compiler.version = first_line(answer.output);
  compiler.is_gcc = answer.output.find("Free Software Foundation") != std::string::npos;
  compiler.identity = answer.output;
  if (!compiler.is_gcc) compiler.major = major_version(compiler);
  compiler.reads_cuda = !compiler.is_gcc && compiler.version.find("Apple") == std::string::npos &&
                        major_version(compiler) >= oldest_cuda_clang;
  return compiler;
}

// Describes the compiler at a path. Runs it again only if its file has changed. Throws std::runtime_error with the reason if
// it is not usable.
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
  // Never destroyed, because static objects may compile in their destructors.
  static auto& known = *new std::map<std::string, Compiler>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(state);
  if (found != known.end()) return found->second;
  Compiler compiler = ask(path);
  compiler.identity += state;
  return known.emplace(state, std::move(compiler)).first->second;
}

// --- Plugins

constexpr std::string_view plugin_begin = "weir_workgroup-", plugin_end = ".so";

std::string plugin_for(const std::filesystem::path& folder, int major) {
  return (folder / fmt::format("{}{}{}", plugin_begin, major, plugin_end)).string();
}

// The LLVM versions for which a folder contains plugins, newest first.
std::vector<int> majors_with_pass(const std::filesystem::path& folder) {
  std::vector<int> majors;
  for (const std::string& name : detail::names_in(folder)) {
    int major = 0;
    if (!name.starts_with(plugin_begin)) continue;
    std::from_chars(name.data() + plugin_begin.size(), name.data() + name.size(), major);
    if (folder / name == plugin_for(folder, major)) majors.push_back(major);
  }
  std::sort(majors.begin(), majors.end(), std::greater<>());
  return majors;
}

// --- Options

// Options that users may not pass: those that change what the compiler does, and those that Weir sets itself.
constexpr std::string_view reserved_options[] = {
    "-c",          "-E",           "-S",        "-P",    "-C", "-CC", "-###", "-shared", "-static", "-pie", "-fsyntax-only",
    "-save-temps", "--save-temps", "--version", "--help"};
constexpr std::string_view reserved_prefixes[] = {"-o", "-x", "-M", "-d", "@"};

// These give the next option to a part of the compiler.
constexpr std::string_view forwarding_options[] = {"-mllvm", "-Xclang", "-Xassembler", "-Xlinker", "-Xpreprocessor"};

void check_extra(const std::vector<std::string>& extra) {
  bool is_forwarded = false;
  for (const std::string& option : extra) {
    const bool is_value = is_forwarded;
    const auto is_one_of = [&](const auto& list) {
      return std::find(std::begin(list), std::end(list), option) != std::end(list);
    };
    is_forwarded = !is_value && is_one_of(forwarding_options);
    const bool is_reserved =
        is_value ? option.starts_with('@')
                 : is_one_of(reserved_options) || std::any_of(std::begin(reserved_prefixes), std::end(reserved_prefixes),
                                                              [&](auto prefix) { return option.starts_with(prefix); });
    if (is_reserved || option.empty() || option.find('\0') != std::string::npos) {
      throw std::invalid_argument(
          fmt::format("'{}' cannot be an extra option: Device::compile itself sets the input and the output", option));
    }
  }
}

}  // namespace

std::string address_sanitizer_of(const Compiler& compiler) {
#if defined(__x86_64__)
  const char* const of_clang = "libclang_rt.asan-x86_64.so";
#else
  const char* const of_clang = "libclang_rt.asan-aarch64.so";
#endif
  const std::string question = std::string("-print-file-name=") + (compiler.is_gcc ? "libasan.so" : of_clang);
  return first_line(detail::run_child({compiler.path, question}, "/", detail::program_environment(compiler.path)).output);
}

std::filesystem::path plugin_folder() {
  Dl_info info;
  if (::dladdr(reinterpret_cast<const void*>(&plugin_folder), &info) == 0) return {};
  const std::filesystem::path folder = std::filesystem::absolute(info.dli_fname).parent_path();
  std::error_code error;
  return std::filesystem::exists(folder / WEIR_PLUGIN_FOLDER, error) ? folder / WEIR_PLUGIN_FOLDER : folder;
}

Compiler find_compiler(const std::filesystem::path& plugins) {
  const auto with_pass = [&](Compiler compiler) {
    const std::string pass = plugin_for(plugins, compiler.major);
    struct stat status {};
    if (compiler.reads_cuda && ::stat(pass.c_str(), &status) == 0) {
      compiler.pass = pass;
      compiler.identity += fmt::format(" {} {} {}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    }
    return compiler;
  };
  if (const auto chosen = support::environment_path("WEIR_HOST_CXX")) {
    try {
      return with_pass(compiler_at(*chosen));
    } catch (const std::runtime_error& reason) {
      throw NoCompiler(
          fmt::format("WEIR_HOST_CXX is not a C++ compiler: {}; set it to another compiler, or unset it", reason.what()));
    }
  }
  const std::vector<std::string> folders = detail::search_path();
  std::string refusals;
  const auto first_of = [&](const std::string& name) -> std::optional<Compiler> {
    for (const std::string& folder : folders) {
      const std::string path = fmt::format("{}/{}", folder, name);
      if (::access(path.c_str(), F_OK) != 0) continue;
      try {
        return with_pass(compiler_at(path));
      } catch (const std::runtime_error& reason) {
        const std::string refusal = fmt::format("; {}", reason.what());
        if (refusals.find(refusal) == refusals.npos) refusals += refusal;
      }
    }
    return std::nullopt;
  };
  for (const int major : majors_with_pass(plugins)) {
    for (const std::string& name : {fmt::format("clang++-{}", major), std::string("clang++")}) {
      if (const auto compiler = first_of(name); compiler && compiler->major == major && !compiler->pass.empty()) {
        return *compiler;
      }
    }
  }
  for (const char* const name : {"c++", "g++", "clang++"}) {
    if (const auto compiler = first_of(name)) return *compiler;
  }
  throw NoCompiler(
      fmt::format("no C++ compiler was found: none of c++, g++, clang++ can be used from {}{}; install one (Debian: apt-get "
                  "install g++), or set WEIR_HOST_CXX to one",
                  fmt::join(folders, ":"), refusals));
}

std::string describe_compiler(bool& found) {
  found = false;
  try {
    const Compiler compiler = find_compiler();
    found = true;
    return fmt::format("{}, {}{}{}", compiler.version, compiler.path, compiler.pass.empty() ? "" : ", ", compiler.pass);
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
        fmt::format("'{}' is not an architecture of the host; write it as in the compiler's option -march=: x86-64-v3, "
                    "armv8.2-a, native",
                    architecture));
  }
  std::vector<std::string> flags = {fmt::format("-std=c++{}", options.cxx_standard), "-fPIC", "-fvisibility=hidden",
                                    // As on a GPU: no exceptions, and functions do not set errno.
                                    "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math",
                                    // Kernels often read memory as another type.
                                    "-fno-strict-aliasing", "-fno-semantic-interposition", "-fdiagnostics-color=never",
                                    // Shared variables belong to the worker; no other module accesses them.
                                    "-ftls-model=local-dynamic"};
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
  add({"-Wno-narrowing"});  // CUDA's compilers only warn about `int a[2] = {0.0, 1.5}`
  if (options.debug) {
    add({"-O0"});
  } else {
    add({"-O3"});
  }
  if (compiler.is_gcc) {
    // Process-wide unique symbols would prevent unloading a module. Dynamic shared memory has no initializer. CUDA's
    // attributes may appear where they mean nothing in C++. `user_messages` shows the source's lines.
    add({"-fno-gnu-unique", "-fno-extern-tls-init", "-Wno-attributes", "-fno-diagnostics-show-caret"});
  } else {
    // Casts to integers saturate, as on a GPU.
    add({"-Qunused-arguments", "-fno-caret-diagnostics", "-fno-strict-float-cast-overflow"});
    // A lane may pass an uninitialized variable to a shuffle, so arguments must not be assumed to be initialized.
    const int major = major_version(compiler);
    if (major >= 14) add({"-Xclang", major == 14 ? "-disable-noundef-analysis" : "-no-enable-noundef-analysis"});
#if defined(__x86_64__) || defined(__i386__)
    add({"-fno-integrated-as"});  // division.hpp uses assembler macros
#endif
    if (!options.debug) add({"-mllvm", "-runtime-memory-check-threshold=100", "-mllvm", "-inline-threshold=2000"});
#if defined(__x86_64__)
    if (!options.debug) add({"-fveclib=libmvec"});
#endif
  }
  if (options.fast_math) {
    // Not -ffast-math: linking with it changes the floating-point mode of the thread that loads the module. NaN and infinity
    // are kept, as in CUDA.
    add({"-fno-signed-zeros", "-fassociative-math", "-freciprocal-math", "-D__FAST_MATH__=1"});
#if defined(__x86_64__)
    if (!compiler.is_gcc) add({"-fapprox-func"});
#endif
  }
  for (const std::string& folder : options.include_directories) flags.push_back("-I" + folder);
  flags.insert(flags.end(), options.extra.begin(), options.extra.end());
  return flags;
}

std::span<const char* const> cuda_flags() noexcept {
  static constexpr const char* flags[] = {"-x",
                                          "cuda",
                                          "--cuda-host-only",
                                          "-nocudainc",
                                          "-nocudalib",
                                          "-fdeclspec",
                                          "--cuda-gpu-arch=sm_70",
                                          "--cuda-path=/none",
                                          "-Xclang",
                                          "-fcuda-is-device",
                                          "-Xclang",
                                          "-fcuda-allow-variadic-functions"};
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
