// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string_view>

#include "compile.hpp"
#include "core/base/temporary_folder.hpp"
#include "device_libraries.hpp"
#include "kernels/device_default.hpp"
#include "kernels/device_entries.hpp"
#include "kernels/device_threads.hpp"
#include "kernels/gpu_atomics.hpp"
#include "kernels/gpu_entries.hpp"
#include "kernels/gpu_library.hpp"
#include "kernels/kernel_headers.hpp"
#include "kernels/kernel_prelude.hpp"
#include "kernels/kernel_prelude_cuda.hpp"
#include "kernels/kernel_prelude_math.hpp"
#include "kernels/kernel_prelude_packed.hpp"
#include "kernels/lane_functions.hpp"
#include "kernels/lexer.hpp"
#include "kernels/runtime_atomics.hpp"
#include "weir/error.hpp"

namespace weir::kernel_tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view keywords = R"(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __grid_constant__
// `__restrict__` constrains one thread. Clang would also conclude that no memory changes at a barrier, which is wrong.
#define __restrict__
#define __restrict
#define WEIR_DEVICE __attribute__((device))
#define weir_constexpr __attribute__((host, device))
)";

// Replaces `template __global__ void blur<3>(float*);` by a pointer to that instance, because Clang refuses such an
// instantiation if functions are device code by default. Taking the address also instantiates the kernel.
std::string without_instances(const std::string& unit) {
  static const std::regex instance(R"(\btemplate\s+__global__\s+void\s+([\w:\s]+<[^;()]*>)\s*\(([^;]*)\)\s*;)");
  std::string text;
  int number = 0;
  std::string::const_iterator rest = unit.begin();
  for (std::sregex_iterator at(unit.begin(), unit.end(), instance), end; at != end; ++at) {
    text.append(rest, (*at)[0].first);
    text += fmt::format("__device__ __attribute__((used)) void (*const weir_instance_{})({}) = &{};", ++number,
                        (*at)[2].str(), (*at)[1].str());
    rest = (*at)[0].second;
  }
  return text.append(rest, unit.end());
}

class ClangCompilation {
 public:
  ClangCompilation(const Request& request, const std::string& clang, std::string& log)
      : request_(request), clang_(clang), log_(log), nvidia_(request.backend == "cuda") {
    if (nvidia_ && !request.architecture.starts_with("compute_")) {
      throw Error(Errc::unsupported, "weir-kernels", request.architecture,
                  fmt::format("Clang compiles to PTX, not to machine code for {}: write {}-virtual after NVIDIA, or omit "
                              "COMPILER clang, so that NVRTC compiles it",
                              request.architecture, request.architecture.substr(request.architecture.find('_') + 1)));
    }
    host::write_kernel_headers(file("headers"), request.options.include_directories);
  }

  std::vector<std::byte> make_image() {
    write("unit.cu", unit());
    std::vector<std::string> preprocess = flags(false);
    const auto add = [&](std::initializer_list<std::string> more) { preprocess.insert(preprocess.end(), more); };
    // This folder comes first, so that Weir's headers replace a toolkit's, which do not work with this prelude.
    preprocess.insert(preprocess.begin() + 1, {"-I", file("headers")});
    add({"-iquote", fs::absolute(request_.source).parent_path().string()});
    for (const fs::path& folder : request_.include_folders) add({"-I", folder.string()});
    for (const std::string& folder : request_.options.include_directories) add({"-I", folder});
    add({"-E", file("unit.cu"), "-o", file("unit.ii")});
    succeed(preprocess);
    write("rewritten.cu",
          std::string(keywords) + host::with_device_as_default(without_instances(read_file(file("unit.ii")))));
    std::vector<std::string> lacking = compile(false);
    const auto is_of_library = [](const std::string& name) {
      return name.starts_with("__nv_") || name.starts_with("__ocml_");
    };
    if (std::any_of(lacking.begin(), lacking.end(), is_of_library)) lacking = compile(true);
    if (!lacking.empty()) {
      fail(fmt::format("the kernels use functions that Clang lacks for {}: {}; compile them with {} instead",
                       request_.architecture, fmt::join(lacking, ", "), nvidia_ ? "NVRTC" : "HIPRTC"));
    }
    return read_image(file("image"));
  }

 private:
  std::string file(const char* name) const { return folder_.path() + "/" + name; }

  void write(const char* name, std::string_view text) const { std::ofstream(file(name), std::ios::binary) << text; }

  [[noreturn]] void fail(const std::string& detail) const {
    throw Error(Errc::compilation_failed, "weir-kernels", request_.architecture, detail);
  }

  int warp_size() const { return nvidia_ || !request_.architecture.starts_with("gfx9") ? 32 : 64; }

  std::string unit() const {
    std::string unit = fmt::format("# 1 \"{}\" 3\n#define WEIR_GPU 1\n#define WEIR_WARP_SIZE {}\n",
                                   kernels::prelude_file_name, warp_size());
    // Do not fuse a product and a sum that the source rounds separately.
    unit += "#pragma clang fp contract(off)\n";
    if (!nvidia_) unit += "#define __HIPCC__ 1\n#define __HIP_PLATFORM_AMD__ 1\n";
    if (nvidia_)
      unit +=
          "#define __CUDACC__ 1\n#define __CUDACC_RTC__ 1\n#define __CUDACC_VER_MAJOR__ 12\n#define __CUDACC_VER_MINOR__ "
          "0\n#define CUDART_VERSION 12000\n";
    unit.append(host::prelude_cuda_library).append(host::prelude_types);
    unit.append(
        "#define WEIR_ENTRY WEIR_DEVICE WEIR_ALWAYS_INLINE\n#define WEIR_PURE\n#define WEIR_CONVERGENT\n"
        "#define WEIR_SET_PLACE(name, file, line, number) ((void)0)\n#define WEIR_SPIN() ((void)0)\n");
    unit.append(host::both_begin)
        .append(kernels::device_entries)
        .append(host::prelude_variables)
        .append(nvidia_ ? kernels::nvidia_entries : kernels::amd_entries)
        .append(kernels::gpu_entries)
        .append(kernels::lane_functions)
        .append(kernels::device_threads)
        .append(host::both_end)
        .append(nvidia_ ? kernels::nvidia_library : kernels::amd_library)
        .append(kernels::gpu_library)
        .append(host::prelude_math)
        .append(host::prelude_packed)
        .append(host::both_begin)
        .append(kernels::runtime_atomics)
        .append(nvidia_ ? kernels::nvidia_atomics : kernels::amd_atomics)
        .append(host::both_end)
        .append("#pragma clang fp contract(fast)\n");
    unit += "# 1 \"<defines>\"\n";  // after the prelude, whose names the program's macros must not replace
    for (const auto& [name, value] : request_.options.defines) unit += fmt::format("#define {} {}\n", name, value);
    const std::string source = request_.source.string();
    unit += fmt::format("# 1 \"{}\"\n{}\n", source, read_file(request_.source));
    if (!request_.options.kernels.empty()) unit += "# 1 \"<kernels>\"\n" + addresses_of(request_.options.kernels);
    return unit;
  }

  // Returns the first words of Clang's command. With `library`, the command links the vendor's library of device functions.
  std::vector<std::string> flags(bool library) const {
    std::vector<std::string> words = {clang_};
    const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    if (nvidia_) {
      const std::string number = request_.architecture.substr(request_.architecture.find('_') + 1);
      // PTX of CUDA 11.8: the kernel entries need it, and the driver for CUDA 12.0, the oldest that Weir supports, reads it.
      add({"-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-path=/none", "--cuda-gpu-arch=sm_" + number, "-Xclang",
           "-target-feature", "-Xclang", "+ptx78"});
      if (library) add({"-Xclang", "-mlink-builtin-bitcode", "-Xclang", found(libdevice)});
    } else {
      // All releases of ROCm that Weir supports read code objects of version 4.
      add({"-x", "hip", "--no-gpu-bundle-output", "-nogpuinc", "--offload-arch=" + request_.architecture,
           "-mcode-object-version=4"});
      const auto libraries = [&] { return rocm_device_libraries(request_.architecture); };
      add({library ? "--rocm-device-lib-path=" + found(libraries) : "-nogpulib"});
    }
    // A lane may pass an uninitialized variable to a shuffle, so Clang must not mark arguments as `noundef`.
    add({"-Xclang", "-no-enable-noundef-analysis"});
    add({"--cuda-device-only", "-fdeclspec", "-fno-builtin", "-fno-exceptions", "-fno-rtti", "-fno-strict-aliasing",
         "-Wno-narrowing", "-ffp-contract=on", "-Xclang", "-fcuda-allow-variadic-functions",
         fmt::format("-std=c++{}", request_.options.cxx_standard), request_.options.debug ? "-O0" : "-O3"});
    if (request_.options.debug) add({"-g"});
    if (request_.options.fast_math) add({"-ffast-math"});
    words.insert(words.end(), request_.options.extra.begin(), request_.options.extra.end());
    return words;
  }

  // Calls a function that looks for a vendor's library.
  template <class Find>
  std::string found(Find&& find) const try {
    return find().string();
  } catch (const std::runtime_error& reason) {
    fail(reason.what());
  }

  std::string succeed(const std::vector<std::string>& command) const {
    detail::ChildOutcome outcome = call_compiler(command, request_.architecture);
    if (outcome.status != 0) fail_to_compile(command, request_.architecture, outcome.output);
    return std::move(outcome.output);
  }

  // Compiles the unit to an image. Returns the names of undefined functions.
  std::vector<std::string> compile(bool library) {
    std::vector<std::string> command = flags(library);
    if (nvidia_) command.emplace_back("-S");
    command.insert(command.end(), {file("rewritten.cu"), "-o", file("image")});
    std::set<std::string> lacking;
    if (nvidia_) {
      log_ = succeed(command);
      lacking = undefined_in_ptx(read_file(file("image")));
    } else {
      const detail::ChildOutcome outcome = call_compiler(command, request_.architecture);
      static const std::regex undefined(R"(undefined (?:hidden )?symbol: ([\w$]+))");
      const std::string& text = outcome.output;
      for (std::sregex_iterator at(text.begin(), text.end(), undefined), end; at != end; ++at) lacking.insert((*at)[1]);
      if (outcome.status != 0 && lacking.empty()) fail_to_compile(command, request_.architecture, outcome.output);
      log_ = outcome.output;
    }
    return {lacking.begin(), lacking.end()};
  }

  const Request& request_;
  const std::string& clang_;
  std::string& log_;
  const bool nvidia_;
  const detail::TemporaryFolder folder_;
};

}  // namespace

std::vector<std::byte> compile_with_clang(const Request& request, const std::string& clang, std::string& log) {
  return ClangCompilation(request, clang, log).make_image();
}

}  // namespace weir::kernel_tool
