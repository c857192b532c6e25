// SPDX-License-Identifier: Apache-2.0

// The program `weir-kernels`, which the CMake function `weir_add_kernels` runs: compiles kernels ahead of time. One run
// makes the image for one architecture, so that the build system can run them in parallel; another run combines the images
// and the source into the bundle. An image's file is a bundle with only that image.

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "compile.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "headers.hpp"
#include "weir/error.hpp"
#include "weir/kernel_bundle.hpp"
#include "weir/version.hpp"

namespace {

namespace fs = std::filesystem;
namespace record = weir::detail::record;
using weir::detail::BundleWriter;
using namespace weir::kernel_tool;

constexpr const char* usage =
    "weir-kernels compiles kernels ahead of time. CMake's function weir_add_kernels runs it.\n\n  weir-kernels image --for "
    "'BACKEND ARCHITECTURE' --output FILE [OPTIONS] SOURCE\n  weir-kernels bundle --output FILE [OPTIONS] SOURCE "
    "[IMAGE]...\n\n  --for 'cuda sm_90'          the architecture: sm_90, compute_90 (PTX); gfx90a; x86-64-v3\n  --output "
    "FILE               the file to write\n  --depfile FILE              lists the files that were read, as a rule for "
    "Ninja or Make\n  --include FOLDER            a folder with headers that the bundle shall contain\n  --system-include "
    "FOLDER     a folder with other headers\n  --define NAME=VALUE         a macro\n  --kernel NAME               an "
    "instance of a template to compile: 'blur<float, 3>'\n  --standard N                the C++ standard: 14, 17 (the "
    "default) or 20\n  --fast-math, --debug        like the members of CompileOptions\n  --option BACKEND=OPTION     an "
    "option for that backend's compiler\n  --compiler PATH             nvcc, hipcc or clang instead of NVRTC or HIPRTC; the "
    "C++ compiler for the host\n  --clang PATH                Clang without the vendor's toolkit: makes PTX or a code "
    "object\n  --optional                  if that compiler is missing, warn and leave out the image\n  --no-source         "
    "        the bundle shall not contain its source\n  --help, --version\n\nExit status: 0; 1 if it does not compile; 2 if "
    "the command line is wrong\n";

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Arguments {
  bool bundle = false;
  Request request;
  fs::path output, depfile;
  bool optional = false, carries_source = true;
  std::vector<fs::path> images;
};

Arguments parse(int argc, char** argv) {
  Arguments all;
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command != "image" && command != "bundle") throw UsageError("the command must be image or bundle");
  all.bundle = command == "bundle";
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view name = word.substr(0, word.find('='));
    const auto take = [&] {
      if (name.size() < word.size()) return std::string(word.substr(name.size() + 1));
      if (i + 1 == argc) throw UsageError(fmt::format("{} needs a value", name));
      return std::string(argv[++i]);
    };
    const auto take_pair = [&](std::string_view what) {
      const std::string text = take();
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos && what == "define") return std::pair(text, std::string("1"));
      if (equals == 0 || equals == std::string::npos) throw UsageError(fmt::format("--{} {}: write NAME=VALUE", what, text));
      return std::pair(text.substr(0, equals), text.substr(equals + 1));
    };
    Request& request = all.request;
    if (!word.starts_with("--")) {
      if (request.source.empty()) {
        request.source = word;
      } else {
        all.images.emplace_back(word);
      }
    } else if (name == "--for") {
      const std::string target = take();
      const std::size_t space = target.find(' ');
      if (space == 0 || space >= target.size() - 1)
        throw UsageError("--for: write a backend and an architecture, such as 'cuda sm_90'");
      request.backend = target.substr(0, space);
      request.architecture = target.substr(space + 1);
    } else if (name == "--output") {
      all.output = take();
    } else if (name == "--depfile") {
      all.depfile = take();
    } else if (name == "--include") {
      request.include_folders.emplace_back(fs::absolute(take()));
    } else if (name == "--system-include") {
      request.options.include_directories.push_back(fs::absolute(take()).string());
    } else if (name == "--define") {
      request.options.defines.push_back(take_pair("define"));
    } else if (name == "--kernel") {
      request.options.kernels.push_back(take());
    } else if (name == "--option") {
      request.extra.push_back(take_pair("option"));
    } else if (name == "--standard") {
      const std::string number = take();
      request.options.cxx_standard = number == "14" ? 14 : number == "17" ? 17 : number == "20" ? 20 : 0;
      if (request.options.cxx_standard == 0) throw UsageError(fmt::format("--standard {}: use 14, 17 or 20", number));
    } else if (name == "--compiler") {
      request.compiler = take();
    } else if (name == "--clang") {
      request.clang = take();
    } else if (word == "--fast-math") {
      request.options.fast_math = true;
    } else if (word == "--debug") {
      request.options.debug = true;
    } else if (word == "--optional") {
      all.optional = true;
    } else if (word == "--no-source") {
      all.carries_source = false;
    } else {
      throw UsageError(fmt::format("unknown option '{}'", word));
    }
  }
  if (all.request.source.empty()) throw UsageError("the source file is missing");
  if (all.output.empty()) throw UsageError("give --output");
  if (!all.bundle && all.request.backend.empty()) throw UsageError("give --for");
  if (!all.bundle && !all.images.empty()) throw UsageError("pass only one source file");
  return all;
}

void write_file(const fs::path& path, const void* data, std::size_t size) {
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{} cannot be written", path.string()));
}

// Writes a rule for Ninja and Make, which escape blanks in the same way.
void write_depfile(const Arguments& arguments, const std::vector<Header>& headers) {
  if (arguments.depfile.empty()) return;
  const auto escaped = [](const fs::path& path) {
    std::string text;
    for (const char c : path.string())
      text += c == ' ' || c == '#' ? std::string("\\") + c : c == '$' ? "$$" : std::string(1, c);
    return text;
  };
  std::string rule = escaped(arguments.output) + ": " + escaped(arguments.request.source);
  for (const Header& header : headers) rule += " \\\n  " + escaped(header.path);
  rule += "\n";
  write_file(arguments.depfile, rule.data(), rule.size());
}

std::vector<std::byte> make_image(const Arguments& arguments, const std::vector<Header>& headers) {
  const Request& request = arguments.request;
  BundleWriter writer;
  try {
    std::string log;
    const std::vector<std::byte> code = compile(request, headers, log);
    std::fputs(usual_form(log, request.source, headers).c_str(), stderr);
    writer.add(record::image, request.backend + " " + request.architecture, code);
  } catch (const weir::Error& error) {
    const bool lacks_compiler =
        error.errc() == weir::Errc::compiler_not_found || error.errc() == weir::Errc::plugin_not_found;
    if (!lacks_compiler || !arguments.optional) throw;
    std::fprintf(stderr, "%s: warning: left out the image for %s %s: %s\n", request.source.c_str(), request.backend.c_str(),
                 request.architecture.c_str(), error.detail().c_str());
  }
  return writer.bundle();
}

std::vector<std::byte> make_bundle(const Arguments& arguments, const std::vector<Header>& headers) {
  const Request& request = arguments.request;
  BundleWriter writer;
  writer.add(record::source, request.source.filename().string(),
             arguments.carries_source ? std::string_view(read_file(request.source)) : std::string_view());
  if (arguments.carries_source) {
    for (const Header& header : headers) writer.add(record::header, header.name, header.text);
    for (const auto& [name, value] : request.options.defines) writer.add(record::define, name, value);
    for (const auto& [backend, option] : request.extra) writer.add(record::option, backend, option);
    for (const std::string& kernel : request.options.kernels) writer.add(record::kernel, kernel, "");
    writer.add(record::standard, "", std::to_string(request.options.cxx_standard));
    if (request.options.fast_math) writer.add(record::fast_math, "", "");
    if (request.options.debug) writer.add(record::debug, "", "");
  }
  for (const fs::path& file : arguments.images) {
    const std::string bytes = read_file(file);
    const weir::KernelBundle image(std::as_bytes(std::span(bytes.data(), bytes.size())));
    for (const auto& [backend, architecture, code] : image.images()) {
      writer.add(record::image, fmt::format("{} {}", backend, architecture), code);
    }
  }
  return writer.bundle();
}

int make_output(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const std::vector<Header> headers = find_headers(arguments.request.source, arguments.request.include_folders);
  try {
    const std::vector<std::byte> bytes = arguments.bundle ? make_bundle(arguments, headers) : make_image(arguments, headers);
    write_file(arguments.output, bytes.data(), bytes.size());
  } catch (const weir::Error& error) {
    // The detail is one line, followed by the compiler's output.
    const std::string detail = error.detail();
    const std::size_t end = std::min(detail.find('\n'), detail.size());
    if (end < detail.size()) {
      std::fputs(usual_form(std::string_view(detail).substr(end + 1), arguments.request.source, headers).c_str(), stderr);
    }
    std::string summary = detail.substr(0, end);
    if (summary.ends_with(':')) summary.pop_back();
    std::fprintf(stderr, "%s: error: %s\n", arguments.request.source.c_str(), summary.c_str());
    return 1;
  }
  write_depfile(arguments, headers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word != "--help" && word != "--version") continue;
    std::fputs(word == "--help" ? usage : fmt::format("weir-kernels {}\n", weir::version()).c_str(), stdout);
    if (std::fflush(stdout) == 0) return 0;
    std::perror("weir-kernels: writing the output");
    return 1;
  }
  try {
    return make_output(argc, argv);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "weir-kernels: %s; weir-kernels --help lists the options\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
