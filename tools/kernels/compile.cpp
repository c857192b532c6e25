// SPDX-License-Identifier: Apache-2.0
#include "compile.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <system_error>

#include "core/base/temporary_folder.hpp"
#include "kernels/gpu_headers.hpp"
#include "weir/error.hpp"
#include "weir/registry.hpp"

namespace weir::kernel_tool {
namespace {

namespace fs = std::filesystem;

// Writes the headers that Weir passes to HIPRTC into a folder, because hipcc lacks them. Its subfolder "last" has those that
// the program's own come before.
void write_device_headers(const fs::path& folder) {
  const auto write = [](const fs::path& path, const char* text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  for (const kernels::DeviceHeader& header : kernels::device_headers) write(folder / header.name, header.text);
  for (const kernels::CubFile& file : kernels::cub_files) write(folder / "last" / file.name, file.text);
}

// Returns the command of nvcc, hipcc or Clang that compiles `source` and writes the image to `output`. `headers`: the folder
// of write_device_headers.
std::vector<std::string> command(const Request& request, const std::string& source, const std::string& output,
                                 const std::string& headers) {
  const CompileOptions& options = request.options;
  std::vector<std::string> words = {request.compiler};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (request.backend == "cuda") {
    const bool is_ptx = request.architecture.starts_with("compute_");
    add({"-x", "cu", is_ptx ? "-ptx" : "-cubin", "-arch=" + request.architecture});
    if (options.fast_math) words.emplace_back("--use_fast_math");
    if (options.debug) words.emplace_back("-G");
  } else {
    // With -c, hipcc still links the code object but leaves out the options for linking a program.
    add({"-x", "hip", "-c", "--cuda-device-only", "--no-gpu-bundle-output", "--offload-arch=" + request.architecture});
    add({kernels::without_masks_option, "-include", "hip/hip_runtime.h", "-I" + headers, "-include", kernels::first_header});
    add({"-idirafter", headers + "/last"});
    if (options.fast_math) words.emplace_back("-ffast-math");
    if (options.debug) {
      add({"-g", "-O0"});
    } else {
      words.emplace_back("-O3");
    }
  }
  words.push_back(fmt::format("-std=c++{}", options.cxx_standard));
  for (const auto& [name, value] : options.defines) words.push_back(fmt::format("-D{}={}", name, value));
  for (const fs::path& folder : request.include_folders) words.push_back("-I" + folder.string());
  for (const std::string& folder : options.include_directories) words.push_back("-I" + folder);
  words.insert(words.end(), options.extra.begin(), options.extra.end());
  add({"-o", output, source});
  return words;
}

std::vector<std::byte> run_compiler(const Request& request, std::string& log) {
  const detail::TemporaryFolder folder;
  const std::string output = folder.path() + "/image";
  std::string source = fs::absolute(request.source).string();
  if (!request.options.kernels.empty()) {
    source = folder.path() + "/instances";
    std::ofstream(source) << "#include \"" << fs::absolute(request.source).string() << "\"\n"
                          << addresses_of(request.options.kernels);
  }
  const std::string headers = folder.path() + "/headers";
  if (request.backend == "hip") write_device_headers(headers);
  const std::vector<std::string> words = command(request, source, output, headers);
  const detail::ChildOutcome outcome = call_compiler(words, request.architecture);
  if (outcome.status != 0) fail_to_compile(words, request.architecture, outcome.output);
  log = outcome.output;
  return read_image(output);
}

}  // namespace

detail::ChildOutcome call_compiler(const std::vector<std::string>& command, const std::string& architecture) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  try {
    return detail::run_child(command, fs::current_path().string(), environment);
  } catch (const std::system_error& error) {
    throw Error(Errc::compiler_not_found, "weir-kernels", architecture,
                fmt::format("{} cannot be run: {}", command.front(), error.what()));
  }
}

void fail_to_compile(const std::vector<std::string>& command, const std::string& architecture, const std::string& output) {
  throw Error(Errc::compilation_failed, "weir-kernels", architecture,
              fmt::format("the source does not compile for {} with {}\n{}", architecture, command.front(), output));
}

std::string addresses_of(std::span<const std::string> kernels) {
  std::string text = "__device__ __attribute__((used)) const void* const weir_kernels_asked_for[] = {\n";
  for (const std::string& kernel : kernels) text += fmt::format("(const void*)&({}),\n", kernel);
  return text + "};\n";
}

std::vector<std::byte> read_image(const std::string& path) {
  const std::string bytes = read_file(path);
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

std::vector<std::byte> compile(const Request& request, std::span<const Header> headers, std::string& log) {
  Request own = request;
  for (const auto& [backend, option] : request.extra) {
    if (backend == request.backend) own.options.extra.push_back(option);
  }
  const bool is_gpu = request.backend == "cuda" || request.backend == "hip";
  if (!request.clang.empty() && is_gpu) return compile_with_clang(own, request.clang, log);
  if (!request.compiler.empty() && is_gpu) return run_compiler(own, log);
  if (!request.compiler.empty()) ::setenv("WEIR_HOST_CXX", request.compiler.c_str(), 1);
  own.options.name = request.source.string();
  // Pass the headers exactly as the bundle contains them, so that a source that compiles here also compiles from the bundle.
  for (const Header& header : headers) own.options.headers.emplace_back(header.name, header.text);
  return Registry::instance().compile_image(request.backend, request.architecture, read_file(request.source), own.options,
                                            &log);
}

}  // namespace weir::kernel_tool
