// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device_compilers.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "backends/cuda/toolkit_headers.hpp"
#include "backends/gpu/header_list.hpp"
#include "core/base/child_process.hpp"
#include "core/base/temporary_folder.hpp"

namespace weir::test {
namespace {

// Both interfaces have the same functions with the same parameters.
struct Functions {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  std::string path;
};

Functions open(const std::string& prefix, const char* variable, const std::vector<std::string>& names) {
  void* library = nullptr;
  if (const char* const chosen = ::getenv(variable)) library = ::dlopen(chosen, RTLD_NOW);
  for (const std::string& name : names) {
    if (library == nullptr) library = ::dlopen(name.c_str(), RTLD_NOW);
  }
  if (library == nullptr) throw NoDeviceCompiler("no " + prefix + ": " + ::dlerror());
  Functions f;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, (prefix + name).c_str()));
    if (function == nullptr) throw NoDeviceCompiler("no " + prefix + name);
  };
  find(f.create, "CreateProgram");
  find(f.compile, "CompileProgram");
  find(f.log_size, "GetProgramLogSize");
  find(f.log, "GetProgramLog");
  find(f.destroy, "DestroyProgram");
  Dl_info file{};
  if (::dladdr(reinterpret_cast<void*>(f.create), &file) != 0) f.path = file.dli_fname;
  return f;
}

const Functions& nvrtc() {
  static const Functions functions =
      open("nvrtc", "WEIR_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"});
  return functions;
}

const Functions& hiprtc() {
  static const Functions functions = open("hiprtc", "WEIR_HIPRTC", {"libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"});
  return functions;
}

// HIPRTC ends the process for an architecture that it does not know, so its code generator is asked.
bool generates_code_for(const std::string& architecture) {
  for (const char* name : {"libamd_comgr.so.3", "libamd_comgr.so.2"}) {
    void* const library = ::dlopen(name, RTLD_NOW);
    if (library == nullptr) continue;
    const auto count = reinterpret_cast<int (*)(std::size_t*)>(::dlsym(library, "amd_comgr_get_isa_count"));
    const auto name_of = reinterpret_cast<int (*)(std::size_t, const char**)>(::dlsym(library, "amd_comgr_get_isa_name"));
    std::size_t n = 0;
    if (count == nullptr || name_of == nullptr || count(&n) != 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const char* isa = nullptr;
      if (name_of(i, &isa) == 0 && std::string_view(isa).ends_with("--" + architecture)) return true;
    }
  }
  return false;
}

// What a compiler prints. It runs in the process's own environment, which tells it where its libraries are.
host::ChildOutcome run(const std::vector<std::string>& command) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return host::run_child(command, "/", environment);
}

// The headers that HIPRTC is handed, in a folder.
const std::string& header_folder() {
  static const host::TemporaryFolder folder;
  static const bool written = [] {
    for (const auto& [name, text] : gpu::device_headers) {
      const auto path = std::filesystem::path(folder.path()) / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text;
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
  const host::TemporaryFolder folder;
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
                            "weir_kernel.h",
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
  const bool amd = architecture.starts_with("gfx");
  const Functions& f = amd ? hiprtc() : nvrtc();
  if (amd && !generates_code_for(architecture)) throw NoDeviceCompiler("HIPRTC does not know " + architecture);
  std::vector<std::string> options = {"-std=c++17"};
  if (amd) {
    options.insert(options.end(), {"--offload-arch=" + architecture, "-include", "weir_kernel.h"});
  } else {
    options.insert(options.end(), {"--gpu-architecture=" + architecture, "--pre-include=weir_kernel.h",
                                   "--device-as-default-execution-space"});
    for (const std::string& folder : cuda::toolkit_header_folders(f.path)) options.push_back("--include-path=" + folder);
  }
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  Functions::Program program = nullptr;
  const std::string text(source);
  const CompileOptions no_headers;
  const gpu::HeaderList headers(no_headers);
  f.create(&program, text.c_str(), name.c_str(), headers.count(), headers.texts.data(), headers.names.data());
  const int result = f.compile(program, static_cast<int>(pointers.size()), pointers.data());
  std::size_t size = 0;
  std::string log;
  if (f.log_size(program, &size) == 0 && size > 1) {
    log.resize(size);
    f.log(program, log.data());
  }
  f.destroy(&program);
  if (result != 0) throw std::runtime_error(log.empty() ? "failed without a message" : log);
}

}  // namespace weir::test
