// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/compile.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "backends/cache/kernel_cache.hpp"
#include "backends/host/compile/compiler.hpp"
#include "backends/host/compile/elf_image.hpp"
#include "backends/host/compile/kernel_scan.hpp"
#include "backends/host/compile/kernel_source.hpp"
#include "backends/host/compile/load.hpp"
#include "backends/host/compile/messages.hpp"
#include "backends/host/run/address_sanitizer.hpp"
#include "backends/host/run/kernel.hpp"
#include "backends/host/run/module.hpp"
#include "core/base/child_process.hpp"
#include "core/base/program_search.hpp"
#include "core/base/temporary_folder.hpp"
#include "kernels/division.hpp"
#include "kernels/groups.hpp"
#include "kernels/kernel_headers.hpp"
#include "kernels/lexer.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/support.hpp"
#include "weir/version.hpp"

/// Compiles a source to a module: preprocesses, completes, compiles, links, caches and loads it.
namespace weir::host {
namespace {

using Image = cache::Bytes;

cache::KernelCache& kernel_cache() {
  // Never destroyed, because destructors of static objects may compile modules.
  static auto& kept = *new cache::KernelCache(cache::default_cache_folder(), "host");
  return kept;
}

/// What Weir adds to a compiler's messages if they are about code for GPUs only.
std::string_view advice_for(std::string_view output) {
  struct Advice {
    std::vector<std::string_view> signs;  // parts of messages, as Clang and GCC write them
    std::string_view text;
  };
  const Advice all[] = {
      {{"no such instruction", "in 'asm'", "invalid instruction mnemonic", "in inline assembly string"},
       "inline assembly works only on GPUs: put it between #ifndef __WEIR_HOST__ and #endif"},
      {{"error: 'cub/", "error: cub/", "in namespace 'cub'", "of namespace 'cub'", "is not a member of 'cub'"},
       "Weir has of CUB only BlockReduce, BlockScan, BlockLoad, BlockStore, WarpReduce and WarpScan: put code that needs "
       "more between #ifndef __WEIR_HOST__ and #endif"},
      {{"error: 'thrust/", "error: thrust/", "error: 'cuda/", "error: cuda/"},
       "Weir has no <thrust/...> and <cuda/...>: put code that needs them between #ifndef __WEIR_HOST__ and #endif"},
      {{"'cudaTextureObject_t'", "'cudaSurfaceObject_t'"},
       "Weir has no textures and surfaces on the CPU: put code that needs them between #ifndef __WEIR_HOST__ and #endif"},
      {{"'__isConstant'", "'__isGridConstant'", "'__cvta_generic_to_constant'", "'__cvta_generic_to_local'",
        "'__cvta_generic_to_grid_constant'", "'__cvta_constant_to_", "'__cvta_local_to_", "'__cvta_grid_constant_to_"},
       "on the CPU no address shows that it is in constant memory, and local memory has no addresses of its own: put code "
       "that asks for them between #ifndef __WEIR_HOST__ "
       "and #endif"}};
  for (const Advice& advice : all) {
    for (const std::string_view sign : advice.signs) {
      if (output.find(sign) != output.npos) return advice.text;
    }
  }
  const auto says = [&](const std::string& text) { return output.find(text) != output.npos; };
  for (const char* const header : refused_headers()) {
    if (says(fmt::format("error: '{}' file not found", header)) || says(fmt::format("error: {}: No such file", header)))
      return refused_header_error;
  }
  return "";
}

/// Thrown if a compilation step fails. Contains the compiler's name and its whole output.
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

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string nth_line(std::string_view text, std::size_t number) {
  for (; number > 1 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  return std::string(text.ends_with('\r') ? text.substr(0, text.size() - 1) : text);
}

// Whether a compiler reports that its assembler or linker is missing.
bool lacks_program(const std::string& output) {
  for (const char* complaint :
       {"fatal error: cannot execute '", "fatal error: cannot find '", "unable to execute command: Executable"}) {
    if (output.find(complaint) != std::string::npos) return true;
  }
  return false;
}

// GCC may take minutes at -O3 for a few kernels that take seconds at -O2. A step that exceeds this processor time is
// repeated with less optimization.
constexpr unsigned most_cpu_seconds = 60;

bool exceeded_its_time(const detail::ChildOutcome& outcome) {
  return outcome.status == -SIGXCPU || ((outcome.status != 0 || outcome.reaped_elsewhere) &&
                                        outcome.output.find("CPU time limit exceeded") != std::string::npos);
}

// The path under which the compiler reads the source, as its messages show it. Empty if that path is not below the folder in
// which the compiler runs.
std::optional<std::filesystem::path> shown_file(const std::string& name) {
  const std::filesystem::path path(name);
  if (!path.is_relative() || !path.has_filename()) return std::nullopt;
  for (const auto& part : path) {
    if (part == "..") return std::nullopt;
  }
  return path;
}

// The tier to try first. If the compiler supports the work-group pass, which needs optimization, the pass forms the blocks;
// otherwise threads are fibers.
Tier choose_tier(const Compiler& compiler, bool debug) {
  constexpr const char* variable = "WEIR_HOST_TIER";
  const auto asked = support::environment(variable);
  const auto fail = [&](const std::string& cause, const std::string& remedy) {
    throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, *asked), "",
                cause.empty() ? remedy : cause + "; " + remedy);
  };
  if (asked && *asked != "fibers" && *asked != "pass") {
    fail("",
         "set it to 'fibers' (each waiting thread has its own stack) or 'pass' (Clang's work-group pass forms blocks of "
         "threads), or unset it to use the pass if there is one");
  }
  if (asked == "pass" && compiler.pass.empty()) {
    fail(fmt::format("{} ({}) has no work-group pass: {}", compiler.path, compiler.version,
                     compiler.reads_cuda
                         ? fmt::format("weir_workgroup-{}.so is not in {}", compiler.major, plugin_folder().string())
                         : std::string("it is not Clang 16 or later")),
         "set WEIR_HOST_CXX to a Clang that has one, or set this variable to 'fibers'");
  }
  return asked == "fibers" || compiler.pass.empty() || debug ? Tier::fibers : Tier::groups;
}

// The remarks that the pass makes about kernels that it refuses, without the locations that Clang adds.
std::string remarks_of(std::string_view output) {
  constexpr std::string_view begin = "remark: ", end = " [-Rpass";
  std::string remarks;
  for (std::size_t at = 0; (at = output.find(begin, at)) != output.npos;) {
    at += begin.size();
    if (!remarks.empty()) remarks += "; ";
    remarks += output.substr(at, output.find(end, at) - at);
  }
  return remarks;
}

// Whether WEIR_HOST_SANITIZE requests AddressSanitizer, which is then in this process.
bool asked_for_sanitizer() {
  constexpr const char* variable = "WEIR_HOST_SANITIZE";
  const auto asked = support::environment(variable);
  const auto fail = [&](const std::string& text) {
    throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, *asked), "", text);
  };
  if (!asked) return false;
  if (*asked != "address") fail("set it to 'address', or unset it");
  if (!has_address_sanitizer()) {
    fail(
        fmt::format("AddressSanitizer's runtime is not in this process; start the program with LD_PRELOAD={}, or build it "
                    "with -fsanitize=address",
                    address_sanitizer_of(find_compiler())));
  }
  return true;
}

class Compilation {
 public:
  /// `architecture`: as for `compiler_flags`. `sanitize`: compiles for AddressSanitizer.
  Compilation(std::string_view source, const CompileOptions& options, std::string_view architecture, int warp_size,
              bool cooperation, bool sanitize = false)
      : sanitize_(sanitize),
        source_(source),
        options_(options),
        cooperation_(cooperation),
        compiler_(find_compiler()),
        flags_(compiler_flags(compiler_, architecture, options)),
        warp_size_(warp_size),
        first_tier_(sanitize ? Tier::fibers : host::choose_tier(compiler_, options.debug)),
        unit_(compose_unit(source, options, warp_size, first_tier_, front_end())) {
    // The folder of the source, where its headers are found; "../common.h" is outside of it.
    for (const auto& [name, text] : options.headers) {
      std::size_t ups = 0;
      for (const auto& part : std::filesystem::path(name)) ups += part == ".." ? 1 : 0;
      while (static_cast<std::size_t>(std::count(shown_.begin(), shown_.end(), '/')) < ups + 1) shown_ += "/in";
    }
    if (!options.headers.empty()) flags_.emplace_back("-I.");
  }

  /// Compiles without the cache. Sets `log` to the compiler's warnings.
  Image compiled(std::string& log) {
    start();
    return compile(log);
  }

  /// Compiles without the cache. The folder in the result contains the source for debuggers; keep it as long as they need
  /// it.
  std::pair<Image, detail::TemporaryFolder> image_for_debugger() {
    start();
    std::string log;
    Image image = compile(log);
    tell(log);
    show(source_);
    return {std::move(image), *std::move(folder_)};
  }

  Image image() {
    cache::KernelCache& cache = kernel_cache();
    const bool alone = stands_alone();
    if (!alone) start();
    const cache::CacheKey key = this->key(alone);
    if (auto kept = cache.find(key)) return *std::move(kept);
    if (alone) start();
    std::string log;
    Image image = compile(log);
    tell(log);
    cache.store(key, image);
    return image;
  }

 private:
  void tell(const std::string& log) const {
    if (!log.empty())
      support::log(support::LogLevel::info, fmt::format("{} on {}:\n{}", compiler_.path, options_.name, log));
  }

  // Whether the text alone determines the result, so that the cache can be searched without running the compiler.
  bool stands_alone() const {
    if (!options_.extra.empty()) return false;
    std::string text(source_);
    for (const auto& [name, value] : options_.defines) text += name + " " + value + "\n";
    for (const std::string_view splice : {"\\\n", "\\\r\n"}) {  // a line splice may divide a word
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
        .add(fmt::format("{} {} {} {}", unit_revision, cooperation_, static_cast<int>(first_tier_), sanitize_))
        .add(compiler_.identity)
        .add(cpu_features());
    for (const std::string& flag : flags_) builder.add(flag);
    // The key must not depend on the tier, which is not known yet.
    builder.add(compose_unit({}, options_, warp_size_, Tier::fibers, front_end()))
        .add(complete_unit({}, Tier::lockstep, front_end()).text)
        .add(kernels::groups_text);
    builder.add("kernels");
    for (const std::string& kernel : options_.kernels) builder.add(kernel);
    if (!alone) return builder.add("preprocessed").add(preprocessed_).key();
    // The prelude's own headers include the C library's, so its version is part of the key.
    builder.add("alone").add(unit_).add(::gnu_get_libc_version());
    for (const char* variable : detail::search_variables()) builder.add(support::environment(variable).value_or(""));
    return builder.key();
  }

  detail::ChildOutcome run(std::vector<std::string> arguments, const char* optimized = nullptr) const {
    arguments.insert(arguments.begin(), compiler_.path);
    return run_program(std::move(arguments), optimized);
  }

  // Runs the compiler, or a program that the compiler would run, in a subfolder of the temporary folder, where the source
  // has the name used in messages. `optimized`: the output file of an optimizing step, which is repeated with less
  // optimization if it takes too long.
  detail::ChildOutcome run_program(std::vector<std::string> arguments, const char* optimized = nullptr) const {
    constexpr const char* most = "-O3";
    constexpr const char* less = "-O2";
    detail::ChildOutcome outcome;
    const auto start = [&](unsigned cpu_seconds) {
      outcome =
          detail::run_child(arguments, folder_->path() + shown_, detail::program_environment(compiler_.path), cpu_seconds);
    };
    try {
      const bool can_do_less = optimized != nullptr && std::count(arguments.begin(), arguments.end(), most) > 0;
      start(can_do_less ? most_cpu_seconds : 0);
      // If the application reaps children itself, their exit status is unknown.
      const bool vanished =
          outcome.reaped_elsewhere && optimized != nullptr && !std::filesystem::exists(folder_->path() + "/" + optimized);
      if (can_do_less && (exceeded_its_time(outcome) || vanished)) {
        std::replace(arguments.begin(), arguments.end(), std::string(most), std::string(less));
        start(0);
        outcome.output.insert(
            0, fmt::format(
                   "compiled with {}: with {} the compilation exceeded {} s of processor time, or the process's own limit\n",
                   less, most, most_cpu_seconds));
      }
    } catch (const std::system_error& failure) {
      throw NoCompiler(
          fmt::format("the compiler cannot be started: {}; set WEIR_HOST_CXX to another compiler", failure.what()));
    }
    if (outcome.status < 0) {
      fail(fmt::format("the compiler was ended by signal {} ({})\n{}", -outcome.status, ::strsignal(-outcome.status),
                       outcome.output));
    }
    if (outcome.status != 0) {
      if (lacks_program(outcome.output)) {
        throw NoCompiler(
            fmt::format("the compiler {} cannot find a program that it needs; it ran with {}; install that program in one "
                        "of those folders, or set WEIR_HOST_CXX to another compiler:\n{}",
                        compiler_.path, fmt::join(detail::program_environment(compiler_.path), " "), outcome.output));
      }
      fail(outcome.output);
    }
    return outcome;
  }

  [[noreturn]] void fail(const std::string& output) const {
    throw StepFailed(fmt::format("{} ({}):\n{}{}", compiler_.path, compiler_.version, readable(output), advice_for(output)));
  }

  // A compiler's messages with the user's lines.
  std::string readable(std::string_view output) const {
    std::optional<kernels::TokenizedSource> source;  // made for the first message
    const std::string assembly = fmt::format("{}:", own(assembler_input));
    std::string text(output);
    if (text.find(assembly) != text.npos)
      text = with_source_lines(text, read_file(folder_->path() + "/" + assembler_input), assembler_input);
    return user_messages(text, [&](const std::string& file, std::size_t line) {
      if (!source) source = kernels::tokenize(preprocessed_);
      return SourceLine{nth_line(text_of(file), line), tokens_at(*source, file, line)};
    });
  }

  // A source file's text as the user wrote it; empty for a file of the prelude's.
  std::string text_of(const std::string& file) const {
    if (file == options_.name) return std::string(source_);
    for (const auto& [name, text] : options_.headers) {
      if (std::filesystem::path(file).lexically_normal() == std::filesystem::path(name).lexically_normal()) return text;
    }
    std::error_code error;
    const bool is_file = file.starts_with('/') && std::filesystem::is_regular_file(file, error);
    return is_file ? read_file(file) : std::string();
  }

  // Reads a file that a step wrote. If the application reaps children itself, only the file's existence shows success.
  std::string result(const char* name, const detail::ChildOutcome& outcome) const {
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

  // The path of a file that belongs to a step, relative to the folder in which the compiler runs.
  std::string own(const char* name) const {
    std::string path;
    for (const char c : shown_) path += c == '/' ? "../" : "";
    return path + name;
  }

  // Writes the steps' input files, and preprocesses the source.
  void start() {
    folder_.emplace();
    std::filesystem::create_directories(folder_->path() + shown_);
    show(source_);
    for (const auto& [name, text] : options_.headers) write_shown(name, text);
    preprocessed_ = preprocess(unit_);
  }

  FrontEnd front_end() const { return compiler_.reads_cuda ? FrontEnd::cuda : FrontEnd::cpp; }

  // The options that select a file's language.
  std::vector<std::string> language() const {
    if (front_end() == FrontEnd::cuda) return {cuda_flags().begin(), cuda_flags().end()};
    return {"-x", "c++"};
  }

  std::string preprocess(std::string_view unit) const {
    write_file(folder_->path() + "/unit.cpp", unit);
    std::vector<std::string> arguments = flags_;
    // This folder comes before the user's folders, because those might contain CUDA's own headers, which this compiler
    // cannot read.
    if (source_.find("include") != std::string_view::npos) {
      const std::string folder(kernels::header_folder);
      write_kernel_headers(folder_->path() + shown_ + "/" + folder, options_.include_directories);
      arguments.insert(arguments.begin(), {"-I", folder});
      if (!options_.headers.empty()) arguments.insert(arguments.begin(), "-I.");  // those are the program's own, as on GPUs
    }
    for (std::string& option : language()) arguments.push_back(std::move(option));
    arguments.insert(arguments.end(), {"-E", own("unit.cpp"), "-o", own("unit.ii")});
    return result("unit.ii", run(std::move(arguments)));
  }

  // Compiles with the work-group pass. Returns nothing if that fails: the tier of fibers then reports the reason.
  std::optional<Image> compile_groups(std::string& log) try {
    // The code for fibers is added only if a kernel needs it: it takes a tenth of the time, and few sources have such a
    // kernel.
    if (const std::string remarks = remarks_of(compile_object(Tier::groups)); !remarks.empty()) {
      support::log(support::LogLevel::info, fmt::format("{}: {}", options_.name, remarks));
      compile_object(Tier::groups, "__attribute__((used))");
    }
    return link(log, Tier::groups);
  } catch (const StepFailed& failure) {
    const std::string_view said = failure.what();
    // The pass adds up the variables of each kernel.
    constexpr std::string_view error = "error: ";
    if (const std::size_t at = said.find("error: the __shared__ variables of '"); at != said.npos)
      refuse_shared(said.substr(at + error.size(), said.find('\n', at) - at - error.size()));
    // A pass for another LLVM, or a damaged one, cannot be used.
    const bool not_loaded = said.find("unable to load plugin") != said.npos;
    support::log(not_loaded ? support::LogLevel::warn : support::LogLevel::info,
                 fmt::format("{} runs on fibers: {}", options_.name, said));
    return std::nullopt;
  }

  Image compile(std::string& log) {
    if (first_tier_ == Tier::groups) {
      if (std::optional<Image> image = compile_groups(log)) return *std::move(image);
      preprocessed_ = preprocess(compose_unit(source_, options_, warp_size_, Tier::fibers, front_end()));
    }
    log = readable(compile_object(mentions_volatile(preprocessed_) ? Tier::lockstep : Tier::fibers));
    return link(log, Tier::fibers);
  }

  CompilableUnit completed(Tier tier) const try {
    return complete_unit(preprocessed_, tier, front_end(), cooperation_, options_.kernels);
  } catch (const RefusedSource& refusal) {
    throw RefusedSource(without_line_end(readable(refusal.what())), refusal.reason());
  }

  // Compiles the preprocessed unit to module.o. Returns the compiler's messages. `kept`: the attribute of functions for
  // kernels that the pass refuses.
  std::string compile_object(Tier tier, std::string_view kept = "") const {
    const CompilableUnit unit = completed(tier);
    write_file(folder_->path() + "/complete.ii", unit.text);
    std::vector<std::string> arguments = flags_after_preprocessing(flags_);
    const auto add = [&](std::initializer_list<const char*> more) {
      arguments.insert(arguments.end(), more.begin(), more.end());
    };
    // Fault reports need line numbers. DWARF version 4, because addr2line misreads the file names in Clang's version 5.
    const char* const amount = options_.debug ? "-g" : compiler_.is_gcc ? "-g1" : "-gline-tables-only";
    arguments.insert(arguments.begin(), {amount, "-gdwarf-4"});
    if (!options_.debug) arguments.insert(arguments.begin(), "-fdebug-prefix-map=" + folder_->path() + shown_ + "=.");
    // GPU compilers fuse in the same way.
    arguments.insert(arguments.begin(), unit.may_fuse ? "-ffp-contract=fast" : "-ffp-contract=off");
    // Run the assembler as a separate command: with division.s in the same command, Clang's driver would start a second
    // Clang.
    const std::string assembler = division.empty() ? std::string() : own_program("as");
    if (!division.empty()) write_file(folder_->path() + "/division.s", division);
    if (!division.empty() && assembler.empty()) arguments.push_back("-Wa," + own("division.s"));
    if (tier == Tier::groups) {
      add({"-fno-crash-diagnostics", "-Rpass-missed=weir-workgroup"});
      arguments.push_back("-fpass-plugin=" + compiler_.pass);
      arguments.push_back(fmt::format("-DWEIR_KEPT={}", kept));
    }
    add({"-fstack-clash-protection"});  // no frame skips the guard page
    if (tier == Tier::lockstep) {
      // The prelude defines the sanitizer's functions; its library is not linked.
      add({"-fsanitize=thread"});
      if (compiler_.is_gcc) {
        add({"--param=tsan-distinguish-volatile=1"});
      } else {
        add({"-mllvm", "-tsan-distinguish-volatile", "-mllvm", "-tsan-instrument-memintrinsics=0", "-mllvm",
             "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-atomics=0"});
      }
    }
    if (sanitize_ && tier == Tier::lockstep) {
      support::log(support::LogLevel::warn, options_.name,
                   ": AddressSanitizer does not check it, because the source contains 'volatile'");
    } else if (sanitize_) {
      // The sanitizer's library is not linked, because the process contains it. Fake stacks are off: it would confuse frames
      // of an abandoned fiber with another fiber's.
      add({"-fsanitize=address,bounds", "-fno-sanitize-recover=bounds", "-fno-omit-frame-pointer",
           compiler_.is_gcc ? "--param=asan-use-after-return=0" : "-fsanitize-address-use-after-return=never"});
    }
    for (std::string& option : language()) arguments.push_back(std::move(option));
    if (assembler.empty()) {
      arguments.insert(arguments.end(), {"-c", own("complete.ii"), "-o", own(object)});
      return run(std::move(arguments), object).output;
    }
    arguments.insert(arguments.end(), {"-S", own("complete.ii"), "-o", own(assembler_input)});
    const detail::ChildOutcome outcome = run(std::move(arguments), assembler_input);
    result(assembler_input, outcome);
    return outcome.output + run_program({assembler, own("division.s"), own(assembler_input), "-o", own(object)}).output;
  }

  // The path of a program that Clang would run, if it can be run directly with these arguments alone. Empty if the compiler
  // must run it.
  std::string own_program(const char* name) const {
    if (compiler_.is_gcc || !options_.extra.empty()) return {};
    const std::string beside = compiler_.path.substr(0, compiler_.path.rfind('/') + 1) + name;
    return ::access(beside.c_str(), X_OK) == 0 ? beside : detail::find_program(name);
  }

  [[noreturn]] void refuse_shared(std::string_view what) const {
    throw RefusedSource(
        fmt::format("{}: error: {}, but a block has at most {} (shared_memory_per_block_optin); use less, or device memory",
                    options_.name, what, most_shared_bytes),
        RefusedSource::Reason::wrong);
  }
  static std::string name_of(const ThreadVariable& variable) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(variable.symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
    std::string text = name != nullptr ? name.get() : variable.symbol;
    if (const std::size_t at = text.find(cpp_kernel_prefix); at != text.npos) text.erase(at, cpp_kernel_prefix.size());
    return text;
  }

  Image link(std::string& log, Tier tier) const {
    std::vector<std::string> arguments = flags_after_preprocessing(flags_);
    // The compiler's library is linked into the module, so that its faults count as the kernel's.
    arguments.insert(arguments.end(),
                     {"-shared", "-static-libgcc", "-Wl,-Bsymbolic", "-Wl,--compress-debug-sections=zlib", own(object)});
    if (!sanitize_) arguments.emplace_back("-Wl,-z,defs");
    const std::string made = result(object, {});
    std::vector<std::string> dynamic;
    std::map<std::string, std::uint64_t> of_function;  // bytes of a function's own variables
    std::uint64_t together = 0;
    for (const ThreadVariable& variable : thread_variables(std::as_bytes(std::span(made)))) {
      if (!variable.defined) dynamic.push_back(variable.symbol);
      const std::string name = name_of(variable);
      if (variable.size > most_shared_bytes)
        refuse_shared(fmt::format("the __shared__ variable '{}' has {} bytes", name, variable.size));
      if (variable.symbol.starts_with("_ZZ")) of_function[name.substr(0, name.rfind("::"))] += variable.size;
      // Variables of the prelude are 64 bytes and less.
      if (variable.defined && variable.size > 64) together += variable.size;
    }
    // The pass adds up the variables of each kernel. Without it, which kernel uses another function's variable is clear only
    // if there is one kernel.
    for (const auto& [function, bytes] : of_function) {
      if (tier == Tier::fibers && bytes > most_shared_bytes)
        refuse_shared(fmt::format("the __shared__ variables of '{}' have {} bytes", function, bytes));
    }
    if (tier == Tier::fibers && together > most_shared_bytes &&
        read_file(folder_->path() + "/complete.ii").find("weir_entry_2") == std::string::npos)
      refuse_shared(fmt::format("the __shared__ variables of the kernel have {} bytes", together));
    if (!dynamic.empty()) {
      write_file(folder_->path() + "/dynamic.s", define_dynamic_memory(dynamic));
      arguments.push_back(own("dynamic.s"));
    }
    arguments.insert(arguments.end(), {"-o", own("module.so")});
    const detail::ChildOutcome outcome = run_linker(arguments, !dynamic.empty());
    log += outcome.output;
    const std::string bytes = result("module.so", outcome);
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    return {begin, begin + bytes.size()};
  }

  // Most kernels need only the C library and its mathematics. Linking the compiler's and the C++ library takes most of the
  // linker's time, so only kernels that need them get them. `assembles`: whether the compiler must first assemble the files.
  detail::ChildOutcome run_linker(const std::vector<std::string>& arguments, bool assembles) const {
    if (const std::string linker = own_program("ld"); !linker.empty() && !assembles && !sanitize_) try {
        return run_program({linker, "-shared", "-Bsymbolic", "--eh-frame-hdr", "--hash-style=gnu", "--build-id",
                            "--compress-debug-sections=zlib", "-z", "defs", own(object), "-o", own("module.so"), "-lm",
                            "-lc"});
      } catch (const StepFailed&) {
      }
    return run(arguments);
  }

  static constexpr const char* assembler_input = "module.s";
  static constexpr const char* object = "module.o";

  const bool sanitize_;
  std::string_view source_;
  const CompileOptions& options_;
  bool cooperation_;
  Compiler compiler_;
  std::vector<std::string> flags_;
  int warp_size_;
  const Tier first_tier_;
  std::string unit_;
  std::optional<detail::TemporaryFolder> folder_;
  std::string shown_ = "/shown";
  std::string preprocessed_;
};

// Runs a compilation and converts its failures to the errors that `Device::compile` documents. `no_cooperation`: why the
// threads of a block cannot cooperate, if they cannot.
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
    const bool sanitize = asked_for_sanitizer();
    Compilation compilation(source, options, "native", device.properties().warp_size,
                            device.supports(Feature::block_cooperation), sanitize);
    const auto load = [&](std::span<const std::byte> image, std::optional<detail::TemporaryFolder> folder) {
      ModulePtr module = load_image(device, image, std::move(folder));
      static_cast<HostModule&>(*module).set_compiled_here();
      return module;
    };
    if (options.debug) {
      auto [image, folder] = compilation.image_for_debugger();
      return load(image, std::move(folder));
    }
    return load(compilation.image(), sanitize ? std::optional<detail::TemporaryFolder>(std::in_place) : std::nullopt);
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
