// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string_view>
#include <utility>

namespace weir::cxx {
namespace {

using Names = std::vector<std::string_view>;

bool is_one_of(std::string_view word, const Names& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Options without a value that change nothing here: the language always has what they switch on, or they concern nvcc's own
// steps.
const Names without_meaning = {"--expt-relaxed-constexpr",
                               "-expt-relaxed-constexpr",
                               "--expt-extended-lambda",
                               "-expt-extended-lambda",
                               "--extended-lambda",
                               "-extended-lambda",
                               "-lineinfo",
                               "--generate-line-info",
                               "-m64",
                               "--machine=64",
                               "-restrict",
                               "--restrict",
                               "-extra-device-vectorization",
                               "--extra-device-vectorization",
                               "-allow-unsupported-compiler",
                               "--allow-unsupported-compiler",
                               "-forward-unknown-to-host-compiler",
                               "--forward-unknown-to-host-compiler",
                               "-munsafe-fp-atomics"};
const Names without_effect = {"-G",         "--device-debug",   "-keep",           "--keep",
                              "-res-usage", "--resource-usage", "--source-in-ptx", "-src-in-ptx"};
// Options with a value that change nothing here.
const Names with_value = {
    "-Xptxas",   "--ptxas-options", "-maxrregcount", "--maxrregcount", "-ccbin",         "--compiler-bindir",
    "-t",        "--threads",       "-cudart",       "--cudart",       "-diag-suppress", "--diag-suppress",
    "-Xcudafe",  "--Xcudafe",       "-Xnvlink",      "-Xfatbin",       "-ftz",           "--ftz",
    "-prec-div", "--prec-div",      "-prec-sqrt",    "--prec-sqrt",    "-split-compile", "--split-compile",
    "-keep-dir", "--keep-dir",      "-err-no",       "-dopt",          "--dopt"};
const Names warnings_as_errors = {"all-warnings",
                                  "cross-execution-space-call",
                                  "deprecated-declarations",
                                  "default-stream-launch",
                                  "missing-launch-bounds",
                                  "ext-lambda-captures-this",
                                  "reorder"};
// The beginnings of options for the host's compiler that the step that links needs, too.
const Names of_linker_too = {"-fopenmp", "-fsanitize", "-flto",     "-fuse-ld", "-fprofile",
                             "-stdlib=", "--coverage", "--sysroot", "-pthread"};
// CUDA's and AMD's libraries that are not there. Those that the runtime or headers stand for are dropped.
// So is cuRAND: programs that only use curand_kernel.h name it, too.
const Names own_libraries = {"cuda",   "cudart",   "cudart_static", "cudadevrt", "nvrtc",
                             "cublas", "cublasLt", "curand",        "amdhip64"};
const Names missing_libraries = {"cufft",     "cusparse",  "cusolver",   "cudnn",     "nvjpeg",  "nppc",
                                 "nppi",      "npps",      "nvToolsExt", "cupti",     "nvml",    "hipblas",
                                 "hipblaslt", "rocblas",   "hipfft",     "rocfft",    "hiprand", "rocrand",
                                 "hipsparse", "rocsparse", "hipsolver",  "rocsolver", "MIOpen"};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(", ", begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The words in the text of a response file. As in other compilers, quotes and backslashes keep blanks.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool blank = std::isspace(static_cast<unsigned char>(text[i])) != 0;
    if (blank && quote == 0) {
      inside = false;
      continue;
    }
    if (!std::exchange(inside, true)) words.emplace_back();
    if (quote == 0 ? text[i] == '"' || text[i] == '\'' : text[i] == quote) {
      quote = quote == 0 ? text[i] : '\0';
    } else {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      words.back() += text[i];
    }
  }
  return words;
}

// Appends the words, with those of response files (`@file`) in the place of their names.
void append_expanded(std::vector<std::string>& to, const std::vector<std::string>& words, int depth = 0) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool of_nvcc = (words[i] == "-optf" || words[i] == "--options-file") && i + 1 < words.size();
    std::ifstream file(of_nvcc ? words[i + 1] : words[i].starts_with('@') ? words[i].substr(1) : std::string());
    if (!file) {
      to.push_back(words[i]);
      continue;
    }
    if (depth == 16) throw UsageError(fmt::format("{}: response files name each other without an end", words[i]));
    append_expanded(to, words_of(std::string(std::istreambuf_iterator<char>(file), {})), depth + 1);
    i += of_nvcc ? 1 : 0;
  }
}

// The compute capability in sm_80, compute_80, arch=compute_80,code=sm_80 or lto_80; empty if there is none.
std::string capability(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_", "lto_"}) {
    const std::size_t at = text.find(prefix);
    if (at == text.npos) continue;
    std::string number;
    for (std::size_t i = at + prefix.size(); i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i)
      number += text[i];
    if (!number.empty()) return number;
  }
  return {};
}

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) { append_expanded(words_, words); }

  Options parse() {
    for (at_ = 0; at_ < words_.size(); ++at_) read(words_[at_]);
    if (options_.cuda_sources.empty() && options_.host_sources.empty() && options_.link_inputs.empty())
      throw UsageError("there is no input file; write: weir c++ prog.cu -o prog");
    if ((options_.step == Step::object || options_.step == Step::kernels) && !options_.output.empty() &&
        options_.cuda_sources.size() + options_.host_sources.size() > 1)
      throw UsageError("-o names one file, but -c and -fatbin make several; leave out -o, or compile one file at a time");
    if (options_.step == Step::kernels && !options_.host_sources.empty())
      throw UsageError("-fatbin is for files with kernels; leave out the other files, or write -x cu before them");
    return std::move(options_);
  }

 private:
  void read(const std::string& word) {
    if (!word.starts_with('-') || word == "-") return add_input(word);
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto value = [&] { return equals != word.npos ? word.substr(equals + 1) : next(word); };
    if (word == "-c" || word == "-dc" || word == "--compile" || word == "--device-c") {
      options_.step = Step::object;
      if (word == "-dc" || word == "--device-c") options_.relocatable = true;
    } else if (word == "-fatbin" || word == "--fatbin") {
      options_.step = Step::kernels;
    } else if (word == "--explain") {
      options_.step = Step::explain;
    } else if (word == "-v" || word == "--verbose") {
      options_.verbose = true;
    } else if (name == "-o" || name == "--output-file") {
      options_.output = value();
    } else if (name == "--for") {
      add_target(value());
    } else if (name == "-arch" || name == "--gpu-architecture" || name == "-gencode" || name == "--generate-code" ||
               name == "-code" || name == "--gpu-code") {
      choose_architecture(word, value());
    } else if (word == "-fgpu-rdc" || word == "-fno-gpu-rdc") {
      options_.relocatable = word == "-fgpu-rdc";
    } else if (name == "--offload-arch") {
      for (const std::string& architecture : split(value())) add_offload_architecture(word, architecture);
    } else if (name == "-x" || name == "--x") {
      const std::string language = value();
      if (!is_one_of(language, {"cu", "hip", "c++", "c"}))
        throw UsageError(fmt::format("-x {}: the languages are cu, hip, c++ and c", language));
      language_ = language;
      options_.hip |= language == "hip";
    } else if (name == "-std" || name == "--std") {
      options_.both.push_back("-std=" + value());
    } else if (name == "-Xcompiler" || name == "--compiler-options") {
      for (const std::string& option : split(value())) add_compiler_option(option);
    } else if (name == "-Xlinker" || name == "--linker-options") {
      for (const std::string& option : split(value())) add({"-Xlinker", option}, options_.link_inputs);
    } else if (word == "-use_fast_math" || word == "--use_fast_math" || word == "-ffast-math") {
      options_.fast_math = true;
    } else if (name == "-fmad" || name == "--fmad") {
      options_.fuse = value() == "true";
    } else if (name == "-default-stream" || name == "--default-stream") {
      choose_default_stream(value());
    } else if (name == "-rdc" || name == "--relocatable-device-code") {
      options_.relocatable = value() == "true";
    } else if (word == "-dlink" || word == "--device-link" || word == "-lib" || word == "--lib") {
      throw UsageError(
          fmt::format("{}: there is no such step here: name the objects (.o) in the command that links the program, "
                      "which links their device code, too (docs/cuda-programs.md)",
                      word));
    } else if (name == "-Werror" && (equals != word.npos || is_followed_by(warnings_as_errors))) {
      // The names of nvcc's own warnings. Clang's would be others.
      options_.ignored.push_back("-Werror " + value());
    } else if (name == "-optimize" || name == "--optimize") {
      options_.host.push_back("-O" + value());
    } else if (name == "-define-macro" || name == "--define-macro") {
      options_.both.push_back("-D" + value());
    } else if (name == "-include-path" || name == "--include-path") {
      add_headers("-I", value());
    } else if (name == "-library-path" || name == "--library-path") {
      options_.link_inputs.push_back("-L" + value());
    } else if (name == "-library" || name == "--library") {
      add_library(value());
    } else if (word == "-debug" || word == "--debug") {
      options_.host.emplace_back("-g");
    } else if (is_one_of(word, without_meaning)) {
    } else if (is_one_of(word, without_effect)) {
      options_.ignored.push_back(word);
    } else if (is_one_of(name, with_value)) {
      options_.ignored.push_back(name + " " + value());
    } else {
      add_common(word);
    }
  }

  // Options that C++ compilers have, too.
  void add_common(const std::string& word) {
    const std::string_view two = std::string_view(word).substr(0, 2);
    if (two == "-D" || two == "-U") {
      add({word.size() > 2 ? word : std::string(two) + next(word)}, options_.both);
    } else if (two == "-I") {
      add_headers("-I", word.size() > 2 ? word.substr(2) : next(word));
    } else if (word == "-isystem") {
      add_headers(word, next(word));
    } else if (word == "-include" || word == "-idirafter") {
      add({word, next(word)}, options_.both);
    } else if (two == "-L") {
      add({word.size() > 2 ? word : "-L" + next(word)}, options_.link_inputs);
    } else if (two == "-l") {
      add_library(word.size() > 2 ? word.substr(2) : next(word));
    } else if (word == "-shared" || word == "--shared" || word == "-static-libstdc++" || word == "-static-libgcc" ||
               word == "-rdynamic" || word == "-pie" || word == "-no-pie" || word == "-s" || word.starts_with("-Wl,")) {
      options_.link_inputs.push_back(word == "--shared" ? "-shared" : word);
    } else if (word == "-MF" || word == "-MT" || word == "-MQ") {
      add({word, next(word)}, options_.host);
    } else if (two == "-O" || two == "-g" || two == "-M" || two == "-w" || word.starts_with("-W")) {
      options_.host.push_back(word);
    } else if (two == "-f" || word.starts_with("-m") || word.starts_with("-stdlib=") || word.starts_with("--sysroot=") ||
               word == "--coverage" || word == "-pthread" || word == "-pedantic" || word == "-pipe") {
      add_compiler_option(word);
    } else {
      throw UsageError(
          fmt::format("the option {} is neither nvcc's nor Clang's, or not supported; leave it out, or pass it "
                      "to Clang's host half with -Xcompiler {} (docs/cuda-programs.md lists the options)",
                      word, word));
    }
  }

  // An option for the host's compiler. Some are for the linker, too, and OpenMP's decides what both halves read.
  void add_compiler_option(const std::string& option) {
    if (std::ranges::any_of(of_linker_too, [&](std::string_view prefix) { return option.starts_with(prefix); }))
      options_.link_inputs.push_back(option);
    if (option.starts_with("-I")) {
      add_headers("-I", option.substr(2));
    } else if (option.starts_with("-fopenmp") || option.starts_with("-D") || option.starts_with("-std")) {
      options_.both.push_back(option);
    } else if (option.starts_with("-Wl,") || option.starts_with("-L") || option.starts_with("-l")) {
      options_.link_inputs.push_back(option);
    } else {
      options_.host.push_back(option);
    }
  }

  // Weir's headers come before those of a CUDA toolkit, whose folder Makefiles name.
  void add_headers(const std::string& option, const std::string& folder) {
    const bool is_toolkit = std::filesystem::exists(std::filesystem::path(folder) / "cuda_runtime.h");
    add({is_toolkit ? "-idirafter" : option, folder}, options_.both);
  }

  void add_library(const std::string& name) {
    if (is_one_of(name, own_libraries)) return;
    if (is_one_of(name, missing_libraries))
      throw UsageError(fmt::format("-l{}: Weir has no counterpart of this library; see docs/cuda-programs.md", name));
    options_.link_inputs.push_back("-l" + name);
  }

  void add_target(const std::string& target) {
    const std::size_t blank = target.find(' ');
    const std::string backend = target.substr(0, blank);
    if (backend != "host" && backend != "cuda" && backend != "hip")
      throw UsageError(
          fmt::format("--for '{}': write a backend (host, cuda or hip) and an architecture, such as "
                      "'cuda compute_80', 'hip gfx90a' or 'host x86-64-v3'",
                      target));
    std::string architecture = blank == target.npos ? "" : target.substr(blank + 1);
    if (backend == "cuda" && architecture.starts_with("sm_")) {
      choose_architecture("--for", architecture);
      architecture = "compute_" + capability(architecture);
    }
    options_.targets.emplace_back(backend, architecture);
  }

  void choose_architecture(const std::string& word, const std::string& value) {
    const std::string number = capability(value);
    if (number.empty()) {
      if (value != "native" && value != "all" && value != "all-major")
        throw UsageError(fmt::format("{}: '{}' names no architecture of NVIDIA's, such as sm_80", word, value));
      return;
    }
    static const std::regex machine("sm_([0-9]+)");
    for (std::sregex_iterator at(value.begin(), value.end(), machine), end; at != end; ++at)
      options_.machines.insert(std::stoi((*at)[1]));
    // PTX for the oldest architecture runs on the newer ones, too.
    const bool first = !std::exchange(has_architecture_, true);
    if (first || std::stoi(number) < std::stoi(capability(options_.nvidia))) options_.nvidia = "compute_" + number;
    // Newer programs have guarded PTX where they would otherwise have nothing.
    options_.cpu_arch = std::clamp(10 * std::stoi(capability(options_.nvidia)), 700, 890);
  }

  // hipcc's option, for AMD's GPUs or for NVIDIA's. The CPU's code is always made, as without the option.
  void add_offload_architecture(const std::string& word, const std::string& architecture) {
    if (!architecture.starts_with("gfx")) return choose_architecture(word, architecture);
    if (options_.targets.empty()) add_target("host");
    add_target("hip " + architecture);
  }

  void choose_default_stream(const std::string& stream) {
    if (stream != "per-thread" && stream != "legacy" && stream != "null")
      throw UsageError(fmt::format("--default-stream {}: write legacy or per-thread", stream));
    options_.per_thread_streams = stream == "per-thread";
    if (options_.per_thread_streams) options_.both.emplace_back("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
  }

  void add_input(const std::string& word) {
    const std::string_view end = std::string_view(word).substr(std::min(word.rfind('.'), word.size()));
    const bool is_source = is_one_of(end, {".cpp", ".cc", ".cxx", ".C", ".c"});
    if (end == ".cu" || end == ".hip" || (is_source && (language_ == "cu" || (language_ == "hip" && end != ".c")))) {
      options_.cuda_sources.push_back(word);
    } else if (is_source) {
      options_.host_sources.push_back(word);
    } else {
      options_.link_inputs.push_back(word);
    }
  }

  bool is_followed_by(const Names& names) const { return at_ + 1 < words_.size() && is_one_of(words_[at_ + 1], names); }

  const std::string& next(const std::string& word) {
    if (at_ + 1 == words_.size()) throw UsageError(fmt::format("the option {} needs a value", word));
    return words_[++at_];
  }

  static void add(std::initializer_list<std::string> words, std::vector<std::string>& to) {
    to.insert(to.end(), words.begin(), words.end());
  }

  std::vector<std::string> words_;
  std::size_t at_ = 0;
  std::string language_;
  bool has_architecture_ = false;
  Options options_;
};

}  // namespace

Options parse(const std::vector<std::string>& words) { return Parser(words).parse(); }

const char* const help =
    "Compiles whole CUDA programs, which then run on NVIDIA's GPUs, AMD's GPUs or the CPU: WEIR_BACKEND chooses when the "
    "program\nstarts. It takes nvcc's options, so a Makefile needs only NVCC=\"weir c++\".\n\nUsage: weir c++ [OPTION]… "
    "FILE…\n\n  -o FILE                 the program, or with -c the object\n  -c                      makes an object\n  "
    "-fatbin                 makes a file of kernels for cuModuleLoadData\n  "
    "--for 'BACKEND ARCH'    the device code to make; may be repeated: 'host x86-64-v3', 'cuda compute_80', 'hip gfx90a'\n"
    "                          (default: the CPU's, and PTX for NVIDIA)\n  --explain               lists the lines that are "
    "refused, and makes nothing\n  -v                      shows the commands\n\nnvcc's options such as -arch, -gencode, "
    "-Xcompiler, -Xptxas, -rdc, -lineinfo, --use_fast_math, --extended-lambda,\n--default-stream, -std, -I, -D, -L, -l, -O "
    "and -g are understood, or ignored with a note; see docs/cuda-programs.md.\n\nVariables:\n  WEIR_HOST_CXX           the "
    "path of the Clang to use, with its version's work-group pass (default: the newest)\n\nExit status: 0; 1 if it does not "
    "compile; 2 if the command line is wrong\n";

}  // namespace weir::cxx
