// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/temporary_folder.hpp"
#include "core/saved/kernel_bundle_format.hpp"
#include "tests/kernels/corpus.hpp"
#include "tests/kernels/device_compilers.hpp"
#include "tests/kernels/dialect_table.hpp"

/// weir_kernel_corpus [--device=cuda:0] [--bundle] [--extra=-O1] [doctest's options]: runs the corpus on a device, with the
/// extra option for its compiler. With --bundle, each file is first compiled to an image and put into a bundle without
/// source, as weir-kernels does, and the bundle is loaded. With --images=FOLDER, the image is FOLDER/FILE.image, which
/// weir-kernels has made. With --march=znver4, kernels are compiled for that host processor; if this machine cannot run
/// them, they are only compiled.
/// weir_kernel_corpus --compile=sm_80,gfx90a: compiles each file for these architectures, without a device. The exit status
/// is 77 if the compiler is missing. weir_kernel_corpus --table=cpu|sm_80|gfx90a [FILE]: compiles each example of the
/// dialect's table.
namespace weir::test {
namespace {

std::string& target_name() {
  static std::string name = "host:0";
  return name;
}
bool by_bundle = false;
std::filesystem::path images;  // a folder of images that weir-kernels made
std::vector<std::string> extra_options;  // CompileOptions::extra of every file

// An architecture that images for the device can be made for.
std::string image_architecture() {
  if (target().backend().name() != "host") return target().properties().architecture;
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") ? "x86-64-v3"
                                                                                                           : "x86-64";
#else
  return "armv8-a";
#endif
}

/// "fold_blocks<256>" for each `template __global__ void fold_blocks<256>(…);`. Not every image tells names that are no C
/// function's: what the bridge compiles for HIP is a CUDA image, which the plugin for HIP cannot read.
std::vector<std::string> instances_of(std::string_view text) {
  constexpr std::string_view begin = "\ntemplate __global__ void ";
  std::vector<std::string> names;
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
    const std::string_view rest = text.substr(at + begin.size());
    names.emplace_back(rest.substr(0, rest.find('(')));
  }
  return names;
}

CompileOptions options_of(const CorpusFile& file) {
  CompileOptions options;
  options.name = std::string(file.name) + ".cu";
  options.kernels = instances_of(file.text);
  options.extra = extra_options;
  if (file.name == "loops") options.kernels.insert(options.kernels.end(), {"one::same", "two::same"});
  return options;
}

/// Whether this processor runs what the options ask for.
bool runs_here() {
  CompileOptions options;
  options.extra = extra_options;
  try {
    static_cast<void>(target().compile("", options));
    return true;
  } catch (const Error& error) {
    if (std::string_view(error.what()).find("which this processor lacks") == std::string_view::npos) throw;
    fmt::print("compiled, and not run: {}\n", error.what());
    return false;
  }
}

int compile_alone() {
  int failures = 0;
  for (const CorpusFile& file : corpus_files()) {
    try {
      Registry::instance().compile_image("host", image_architecture(), file.text, options_of(file));
    } catch (const Error& error) {
      fmt::print("{}\n", error.what());
      ++failures;
    }
  }
  fmt::print("{} compilations, {} failures\n", corpus_files().size(), failures);
  return failures == 0 ? 0 : 1;
}

ModulePtr load_bundle(std::string_view text, const CompileOptions& options) {
  const std::string backend(target().backend().name()), architecture = image_architecture();
  detail::BundleWriter writer;
  writer.add(detail::record::image, backend + " " + architecture,
             Registry::instance().compile_image(backend, architecture, text, options));
  writer.add(detail::record::source, options.name, "");
  const std::vector<std::byte> bytes = writer.bundle();
  return target().load(KernelBundle(bytes));
}

}  // namespace

Device& target() { return device(target_name()); }

const ModulePtr& corpus(std::string_view name) {
  static std::map<std::string_view, ModulePtr> modules;
  ModulePtr& module = modules[name];
  if (module) return module;
  for (const CorpusFile& file : corpus_files()) {
    if (file.name != name) continue;
    const CompileOptions options = options_of(file);
    if (!images.empty()) {
      std::ifstream in(images / (std::string(name) + ".image"), std::ios::binary);
      if (!in) throw std::runtime_error("there is no image of " + std::string(name));
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      return module = target().load(KernelBundle(std::as_bytes(std::span(bytes))));
    }
    return module = by_bundle ? load_bundle(file.text, options) : target().compile(file.text, options);
  }
  throw std::logic_error("no such file in the corpus: " + std::string(name));
}

}  // namespace weir::test

int main(int argc, char** argv) {
  using namespace weir::test;
  for (const char* variable : {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_HOST_DEVICES"})
    ::unsetenv(variable);
  const weir::detail::TemporaryFolder cache;
  bool only_compiles = false;
  std::optional<std::string> clangs;  // that compile for AMD, in the place of HIPRTC
  ::setenv("WEIR_CACHE_DIR", cache.path().c_str(), 1);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--device=")) target_name() = argument.substr(9);
    if (argument == "--bundle") by_bundle = true;
    if (argument.starts_with("--images=")) images = argument.substr(9);
    if (argument.starts_with("--extra=")) extra_options.emplace_back(argument.substr(8));
    if (argument.starts_with("--march=")) {
      extra_options.emplace_back(fmt::format("-march={}", argument.substr(8)));
      only_compiles = !runs_here();
    }
    if (argument.starts_with("--table=")) {
      try {
        return check_dialect_table(std::string(argument.substr(8)), i + 1 < argc ? argv[i + 1] : WEIR_DIALECT_PAGE);
      } catch (const std::runtime_error& error) {
        fmt::print("{}\n", error.what());
        return 1;
      }
    }
    if (argument.starts_with("--clang=")) clangs = argument.substr(8);
    if (!argument.starts_with("--compile=")) continue;
    int failures = 0, compiled = 0;
    std::string release;
    std::string architectures(argument.substr(10));
    for (std::size_t begin = 0; begin < architectures.size();) {
      const std::size_t end = std::min(architectures.find(',', begin), architectures.size());
      const std::string architecture = architectures.substr(begin, end - begin);
      begin = end + 1;
      for (const CorpusFile& file : corpus_files()) {
        // What is written for warps of 32 threads does not compile for others.
        if (file.name.starts_with("narrow_") && architecture.starts_with("gfx9")) continue;
        try {
          const std::string name = std::string(file.name) + ".cu";
          if (!clangs) {
            compile_for(architecture, file.text, name);
          } else {
            release = compile_with_clang(*clangs, architecture, file.text, name);
          }
          ++compiled;
        } catch (const NoDeviceCompiler& reason) {
          fmt::print("skipped: {}\n", reason.what());
          return 77;
        } catch (const std::runtime_error& error) {
          fmt::print("{} for {}: {}\n", file.name, architecture, error.what());
          ++failures;
        }
      }
    }
    fmt::print("{} compilations, {} failures{}{}\n", compiled + failures, failures, release.empty() ? "" : ", by ", release);
    return failures == 0 ? 0 : 1;
  }
  return only_compiles ? compile_alone() : doctest::Context(argc, argv).run();
}
