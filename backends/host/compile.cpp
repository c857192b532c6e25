// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "backends/cache/kernel_cache.hpp"
#include "backends/host/child_process.hpp"
#include "backends/host/compiler.hpp"
#include "backends/host/elf_image.hpp"
#include "backends/host/kernel.hpp"
#include "backends/host/kernel_headers.hpp"
#include "backends/host/kernel_source.hpp"
#include "backends/host/module.hpp"
#include "backends/host/temporary_folder.hpp"
#include "kernels/lexer.hpp"
#include "kernels/split.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin.hpp"
#include "weir/version.hpp"

/// From source to a module: preprocess, rewrite, compile, cache, load.
namespace weir::host {
namespace {

using Image = cache::Bytes;

cache::KernelCache& kernel_cache() {
  // Never destroyed: modules may be compiled in the destructors of static objects.
  static auto& kept = *new cache::KernelCache(cache::default_cache_folder(), "host");
  return kept;
}

/// A step of the compiler that failed: which compiler, and all that it said.
class StepFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), "writing " + path.string());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whether a compiler reports that its assembler or linker is missing.
bool lacks_program(const std::string& output) {
  for (const char* complaint :
       {"fatal error: cannot execute '", "fatal error: cannot find '", "unable to execute command: Executable"}) {
    if (output.find(complaint) != std::string::npos) return true;
  }
  return false;
}

// GCC takes minutes for a few kernels at -O3, and seconds at -O2. What is done after so much of a processor's time is done
// with less.
constexpr unsigned most_cpu_seconds = 60;

bool exceeded_its_time(const ChildOutcome& outcome) {
  return outcome.status == -SIGXCPU ||
         ((outcome.status != 0 || outcome.reaped_elsewhere) &&
          outcome.output.find("CPU time limit exceeded") != std::string::npos);
}

// The path at which a compiler reads the source to show its lines, if that is in the folder where it runs.
std::optional<std::filesystem::path> shown_file(const std::string& name) {
  const std::filesystem::path path(name);
  if (!path.is_relative() || !path.has_filename()) return std::nullopt;
  for (const auto& part : path) {
    if (part == "..") return std::nullopt;
  }
  return path;
}

class Compilation {
 public:
  /// `architecture`: as `compiler_flags` takes it.
  Compilation(std::string_view source, const CompileOptions& options, std::string_view architecture, int warp_size,
              bool cooperation)
      : source_(source),
        options_(options),
        cooperation_(cooperation),
        compiler_(find_compiler()),
        flags_(compiler_flags(compiler_, architecture, options)),
        unit_(compose_unit(source, options, warp_size)) {
    // The folder of the source, where its headers are found, and which "../common.h" leaves.
    for (const auto& [name, text] : options.headers) {
      std::size_t ups = 0;
      for (const auto& part : std::filesystem::path(name)) ups += part == ".." ? 1 : 0;
      while (static_cast<std::size_t>(std::count(shown_.begin(), shown_.end(), '/')) < ups + 1) shown_ += "/in";
    }
    if (!options.headers.empty()) flags_.emplace_back("-I.");
  }

  /// Not from the cache. What the compiler warns of is put into `log`.
  Image compiled(std::string& log) {
    preprocess();
    return compile(log);
  }

  Image image() {
    cache::KernelCache& cache = kernel_cache();
    const bool alone = stands_alone();
    if (!alone) preprocess();
    const cache::CacheKey key = this->key(alone);
    if (auto kept = cache.find(key)) return *std::move(kept);
    if (alone) preprocess();
    std::string log;
    Image image = compile(log);
    if (!log.empty())
      support::log(support::LogLevel::info, fmt::format("{} on {}:\n{}", compiler_.path, options_.name, log));
    cache.store(key, image);
    return image;
  }

 private:
  // Whether the text alone decides the result: then a cached module is found without running the compiler.
  bool stands_alone() const {
    if (!options_.extra.empty()) return false;
    std::string text(source_);
    for (const auto& [name, value] : options_.defines) text += name + " " + value + "\n";
    for (const std::string_view splice : {"\\\n", "\\\r\n"}) {  // a word may be broken over two lines
      for (std::size_t at = 0; (at = text.find(splice, at)) != std::string::npos;) text.erase(at, splice.size());
    }
    for (const char* word : {"include", "import", "embed", "__DATE__", "__TIME__", "__TIMESTAMP__"}) {
      if (text.find(word) != std::string::npos) return false;
    }
    return true;
  }

  cache::CacheKey key(bool alone) const {
    cache::CacheKeyBuilder builder;
    builder.add(WEIR_VERSION_STRING)
        .add(fmt::format("{} {} {}", rewriter_revision, kernels::splitter_revision, cooperation_))
        .add(compiler_.identity)
        .add(cpu_features());
    for (const std::string& flag : flags_) builder.add(flag);
    builder.add("kernels");
    for (const std::string& kernel : options_.kernels) builder.add(kernel);
    if (!alone) return builder.add("preprocessed").add(preprocessed_).key();
    // The prelude's own headers are the C library's.
    builder.add("alone").add(unit_).add(::gnu_get_libc_version());
    for (const char* variable : search_variables()) builder.add(support::environment(variable).value_or(""));
    return builder.key();
  }

  // Runs the compiler in a folder of the temporary folder, where the source lies under the name its messages carry.
  // With `less`, optimization that takes too long is given up for that.
  ChildOutcome run(std::vector<std::string> arguments, const char* less = nullptr) const {
    arguments.insert(arguments.begin(), compiler_.path);
    ChildOutcome outcome;
    const auto start = [&](unsigned cpu_seconds) {
      outcome = run_child(arguments, folder_->path() + shown_, compiler_environment(compiler_.path), cpu_seconds);
    };
    try {
      start(less != nullptr ? most_cpu_seconds : 0);
      const bool can_do_less = less != nullptr && std::count(arguments.begin(), arguments.end(), "-O3") > 0;
      // If the application reaps children itself, how one ended is not known.
      const bool vanished = outcome.reaped_elsewhere && !std::filesystem::exists(folder_->path() + "/module.so");
      if (can_do_less && (exceeded_its_time(outcome) || vanished)) {
        std::replace(arguments.begin(), arguments.end(), std::string("-O3"), std::string(less));
        start(0);
        outcome.output.insert(0,
                              fmt::format("compiled with {}: with -O3 it does not end within {} s of a processor's time, "
                                          "or the process's own limit\n",
                                          less, most_cpu_seconds));
      }
    } catch (const std::system_error& failure) {
      throw NoCompiler(fmt::format("the compiler cannot be started: {}; name another in WEIR_HOST_CXX", failure.what()));
    }
    if (outcome.status < 0) {
      fail(fmt::format("the compiler was ended by signal {} ({})\n{}", -outcome.status, ::strsignal(-outcome.status),
                       outcome.output));
    }
    if (outcome.status != 0) {
      if (lacks_program(outcome.output)) {
        throw NoCompiler(
            fmt::format("the compiler {} does not find a program that it needs; it ran with {}; install that program in "
                        "one of those folders, or name another compiler in WEIR_HOST_CXX:\n{}",
                        compiler_.path, fmt::join(compiler_environment(compiler_.path), " "), outcome.output));
      }
      fail(outcome.output);
    }
    return outcome;
  }

  [[noreturn]] void fail(const std::string& output) const {
    throw StepFailed(fmt::format("{} ({}):\n{}", compiler_.path, compiler_.version, output));
  }

  // A file that a step wrote. If the application reaps children itself, only its presence tells of success.
  std::string result(const char* name, const ChildOutcome& outcome) const {
    std::string text = read_file(folder_->path() + "/" + name);
    if (text.empty()) fail(outcome.output.empty() ? "the compiler wrote nothing" : outcome.output);
    return text;
  }

  void write_shown(const std::filesystem::path& name, std::string_view text) const {
    const auto path = (std::filesystem::path(folder_->path() + shown_) / name).lexically_normal();
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text);
  }

  void show(std::string_view text) const {
    if (const auto file = shown_file(options_.name)) write_shown(*file, text);
  }

  // Where the steps' own files lie, as the compiler sees it from its folder.
  std::string own(const char* name) const {
    std::string path;
    for (const char c : shown_) path += c == '/' ? "../" : "";
    return path + name;
  }

  void preprocess() {
    folder_.emplace();
    std::filesystem::create_directories(folder_->path() + shown_);
    write_file(folder_->path() + "/unit.cpp", unit_);
    show(source_);
    for (const auto& [name, text] : options_.headers) write_shown(name, text);
    std::vector<std::string> arguments = flags_;
    // Before the user's folders: CUDA's own headers, which might be in them, are not for this compiler.
    if (source_.find("include") != std::string_view::npos) {
      const std::string folder(kernels::header_folder);
      write_kernel_headers(folder_->path() + shown_ + "/" + folder);
      arguments.insert(arguments.begin(), {"-I", folder});
    }
    arguments.insert(arguments.end(), {"-x", "c++", "-E", own("unit.cpp"), "-o", own("unit.ii")});
    preprocessed_ = result("unit.ii", run(std::move(arguments)));
  }

  Image compile(std::string& log) {
    const RewrittenUnit rewritten = rewrite_kernels(preprocessed_, !options_.debug, cooperation_, options_.kernels);
    write_file(folder_->path() + "/rewritten.ii", rewritten.text);
    show(lines_of(preprocessed_, options_.name));
    std::vector<std::string> arguments = flags_after_preprocessing(flags_);
    // Compilers for GPUs fuse in the same way.
    arguments.insert(arguments.begin(), rewritten.may_fuse ? "-ffp-contract=fast" : "-ffp-contract=off");
    if (compiler_.is_gcc && !shown_file(options_.name)) arguments.push_back("-fno-diagnostics-show-caret");
    arguments.insert(arguments.end(), {"-shared", "-Wl,-z,defs", "-Wl,-Bsymbolic", "-x", "c++-cpp-output",
                                       own("rewritten.ii"), "-o", own("module.so")});
    const ChildOutcome outcome = run(std::move(arguments), options_.debug ? nullptr : "-O2");
    log = outcome.output;
    const std::string bytes = result("module.so", outcome);
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    return {begin, begin + bytes.size()};
  }

  std::string_view source_;
  const CompileOptions& options_;
  bool cooperation_;
  Compiler compiler_;
  std::vector<std::string> flags_;
  std::string unit_;
  std::optional<TemporaryFolder> folder_;
  std::string shown_ = "/shown";
  std::string preprocessed_;
};

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// What a compilation ends with: its result, or an error as `Device::compile` promises it. `no_cooperation`: why the threads
// of a block cannot work together, if they cannot.
template <class Compile>
auto with_errors(const char* operation, const std::string& object, const CompileOptions& options,
                 const std::string& no_cooperation, Compile&& compile) {
  const auto fail = [&](Errc code, const std::string& detail) -> Error { return {code, operation, object, detail}; };
  try {
    return compile();
  } catch (const StepFailed& failure) {
    throw fail(Errc::compilation_failed,
               fmt::format("{} did not compile with {}", options.name, without_line_end(failure.what())));
  } catch (const Error&) {
    throw;
  } catch (const NoCompiler& reason) {
    throw fail(Errc::compiler_not_found, reason.what());
  } catch (const std::invalid_argument& reason) {
    throw fail(Errc::invalid_argument, reason.what());
  } catch (const RefusedSource& refusal) {
    if (refusal.reason() == RefusedSource::Reason::wrong) {
      throw fail(Errc::compilation_failed, fmt::format("{} did not compile:\n{}", options.name, refusal.what()));
    }
    if (refusal.reason() == RefusedSource::Reason::not_understood) {
      throw fail(Errc::unsupported,
                 fmt::format("{} cannot run here: the threads of a block work together in a way that cannot be split "
                             "(docs/kernels.md)\n{}",
                             options.name, refusal.what()));
    }
    throw fail(Errc::unsupported, fmt::format("{} cannot run here: {}\n{}", options.name, no_cooperation, refusal.what()));
  } catch (const BadImage& bad) {
    throw fail(Errc::backend_failure, fmt::format("the compiler's output cannot be loaded: {}", bad.what()));
  } catch (const std::filesystem::filesystem_error& failure) {
    throw fail(Errc::backend_failure, failure.what());
  } catch (const std::runtime_error& failure) {
    throw fail(Errc::backend_failure, failure.what());
  }
}

}  // namespace

ModulePtr compile_module(Device& device, std::string_view source, const CompileOptions& options) {
  return with_errors("Device::compile", device.describe(), options, device.feature(Feature::block_cooperation).reason, [&] {
    Compilation compilation(source, options, "native", device.properties().warp_size,
                            device.supports(Feature::block_cooperation));
    return load_image(device, compilation.image(), options.debug);
  });
}

void compile_image(ImageCompilation& request) {
  request.image =
      with_errors("Registry::compile_image", "host " + std::string(request.architecture), request.options, {}, [&] {
        Compilation compilation(request.source, request.options, request.architecture, image_warp_size, true);
        return compilation.compiled(request.log);
      });
}

}  // namespace weir::host
