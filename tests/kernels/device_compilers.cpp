// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device_compilers.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "backends/gpu/header_list.hpp"
#include "core/base/child_process.hpp"
#include "core/base/temporary_folder.hpp"
#include "weir/error.hpp"
#include "weir/registry.hpp"

namespace weir::test {
namespace {

// Runs a compiler in this process's environment, which contains the paths of its libraries. Returns its output.
detail::ChildOutcome run(const std::vector<std::string>& command) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return detail::run_child(command, "/", environment);
}

// The headers that HIPRTC is handed, in a folder.
const std::string& header_folder() {
  static const detail::TemporaryFolder folder;
  static const bool written = [] {
    const CompileOptions none;
    const gpu::HeaderList headers(none);
    for (std::size_t i = 0; i < headers.names.size(); ++i) {
      const auto path = std::filesystem::path(folder.path()) / headers.names[i];
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << headers.texts[i];
    }
    return true;
  }();
  static_cast<void>(written);
  return folder.path();
}

struct Clang {
  std::string path, release, resources;
};

// The first of the compilers that knows the architecture.
const Clang& clang_for(const std::string& compilers, const std::string& architecture) {
  static std::map<std::string, Clang> found;
  if (const auto known = found.find(architecture); known != found.end()) return known->second;
  for (std::size_t begin = 0; begin < compilers.size();) {
    const std::size_t end = std::min(compilers.find(':', begin), compilers.size());
    const std::string path = compilers.substr(begin, end - begin);
    begin = end + 1;
    const auto attempt = run({path, "--target=amdgcn-amd-amdhsa", "-mcpu=" + architecture, "-nogpulib", "-x", "c", "-c",
                              "-o", "/dev/null", "/dev/null"});
    if (attempt.status != 0) continue;
    const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
    return found[architecture] = {path, first_line(run({path, "--version"}).output),
                                  first_line(run({path, "-print-resource-dir"}).output)};
  }
  throw NoDeviceCompiler("none of these knows " + architecture + ": " + compilers);
}

}  // namespace

std::string compile_with_clang(const std::string& compilers, const std::string& architecture, std::string_view source,
                               const std::string& name) {
  const std::string hip = WEIR_TEST_HIP_HEADERS;
  const std::string runtime = hip + "/hip/hip_runtime.h";
  if (!std::filesystem::exists(runtime)) throw NoDeviceCompiler("there is no " + runtime);
  const Clang& clang = clang_for(compilers, architecture);
  const detail::TemporaryFolder folder;
  const std::string file = folder.path() + "/" + name;
  std::ofstream(file) << source;
  // As HIPRTC's own headers were made: the runtime's, read as for run time, and nothing of the system's.
  const auto outcome = run({clang.path,
                            "-x",
                            "hip",
                            "--cuda-device-only",
                            "--offload-arch=" + architecture,
                            "-nogpulib",
                            "-nogpuinc",
                            "-nostdinc",
                            "-D__HIPCC_RTC__",
                            kernels::without_masks_option,
                            "-std=c++17",
                            "-O3",
                            "-w",
                            "-I",
                            header_folder(),
                            "-isystem",
                            clang.resources + "/include/cuda_wrappers",
                            "-isystem",
                            clang.resources + "/include",
                            "-idirafter",
                            hip,
                            "-include",
                            "__clang_hip_runtime_wrapper.h",
                            "-include",
                            runtime,
                            "-include",
                            hip + "/hip/amd_detail/amd_warp_functions.h",
                            "-include",
                            hip + "/hip/amd_detail/amd_hip_fp16.h",
                            "-include",
                            kernels::first_header,
                            "-S",
                            "-o",
                            folder.path() + "/out.s",
                            file});
  if (outcome.status != 0) throw std::runtime_error(outcome.output.empty() ? "failed without a message" : outcome.output);
  std::ifstream assembly(folder.path() + "/out.s");
  const std::string text{std::istreambuf_iterator<char>(assembly), std::istreambuf_iterator<char>()};
  if (text.find("amdgcn-amd-amdhsa--" + architecture) == std::string::npos ||
      text.find(".amdhsa_kernel") == std::string::npos)
    throw std::runtime_error("what was written has no kernel for " + architecture);
  return clang.release;
}

void compile_for(const std::string& architecture, std::string_view source, const std::string& name) {
  const char* const backend = architecture.starts_with("gfx") ? "hip" : "cuda";
  CompileOptions options;
  options.name = name;
  try {
    (void)Registry::instance().compile_image(backend, architecture, source, options);
  } catch (const Error& error) {
    for (const Errc none : {Errc::compiler_not_found, Errc::driver_too_old, Errc::plugin_not_found}) {
      if (error.errc() == none) throw NoDeviceCompiler(error.what());
    }
    throw std::runtime_error(error.what());
  }
}

}  // namespace weir::test
