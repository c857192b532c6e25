// SPDX-License-Identifier: Apache-2.0
// Writes the headers of the device language for whole CUDA programs (cudart/include) into a folder: weir_device_cpu.h, which
// the host half of a program reads too, weir_device_nvidia.h, weir_device_amd.h, and CUDA's headers that kernels may
// include. The texts are those that kernels are compiled with (kernels/*.hpp). There the program consists of kernels only,
// and no header of the system is read; here they meet the system's headers and host code. So what only the former need is
// taken out, each piece by its exact text: if that text changes, the build fails here.
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/bfloat16.hpp"
#include "kernels/cub.hpp"
#include "kernels/device_default.hpp"
#include "kernels/device_entries.hpp"
#include "kernels/device_threads.hpp"
#include "kernels/fiber_threads.hpp"
#include "kernels/fp8.hpp"
#include "kernels/gpu_atomics.hpp"
#include "kernels/gpu_entries.hpp"
#include "kernels/gpu_library.hpp"
#include "kernels/groups.hpp"
#include "kernels/half.hpp"
#include "kernels/kernel_prelude.hpp"
#include "kernels/kernel_prelude_cuda.hpp"
#include "kernels/kernel_prelude_groups.hpp"
#include "kernels/kernel_prelude_math.hpp"
#include "kernels/kernel_prelude_packed.hpp"
#include "kernels/lane_functions.hpp"
#include "kernels/math_constants.hpp"
#include "kernels/matrix_products.hpp"
#include "kernels/program_language.hpp"
#include "kernels/random.hpp"
#include "kernels/runtime_atomics.hpp"
#include "kernels/standard_headers.hpp"
#include "kernels/textures.hpp"

namespace {

using weir::host::both_begin, weir::host::both_end;
namespace host = weir::host;
namespace kernels = weir::kernels;

enum class Target { cpu, nvidia, amd };

/// A text in which pieces can be replaced.
class Text {
 public:
  explicit Text(std::string_view text) : text_(text) {}

  /// Replaces every `piece`, of which there must be at least one.
  Text& replace(std::string_view piece, std::string_view by) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text_.find(piece, at)) != std::string::npos; at += by.size(), ++count)
      text_.replace(at, piece.size(), by);
    if (count == 0) throw std::runtime_error("the kernels' text lacks: " + std::string(piece));
    return *this;
  }

  /// Replaces what lies from `begin` to the end of the next `end`.
  Text& replace(std::string_view begin, std::string_view end, std::string_view by) {
    const std::size_t first = text_.find(begin);
    const std::size_t last = first == std::string::npos ? first : text_.find(end, first);
    if (last == std::string::npos) throw std::runtime_error("the kernels' text lacks: " + std::string(begin));
    text_.replace(first, last + end.size() - first, by);
    return *this;
  }

  operator std::string_view() const { return text_; }

 private:
  std::string text_;
};

// The declarations of the C library's functions for device code. They come before the system's headers: then <cmath>'s
// constexpr functions, which Clang would compile for the device too, remain host code where there is a device function, and
// the using-declarations of <cstring> and others see both.
Text library(Target target) {
  Text text(host::prelude_cuda_library);
  text.replace("// constexpr functions of libstdc++", "#define M_SQRT1_2 0.70710678118654752440\n", "")
      .replace("#define assert(condition)", "__PRETTY_FUNCTION__))\n", "")
      // Clang knows the function `printf` of NVIDIA's GPUs.
      .replace("  // prelude_module defines it", "");
  if (target == Target::nvidia) text.replace(" __asm__(\"weir_printf\")", "");
  return text;
}

Text types() {
  return Text(host::prelude_types)
      .replace("#ifndef WEIR_GPU\n// NVRTC's", "#define __align__(n) __attribute__((aligned(n)))\n", "")
      .replace("// Available without <new>", "typedef struct CUevent_st* cudaEvent_t;\n", "")
      // Without this constructor, `dim3(threadIdx)` would be ambiguous in C++14: by way of uint3 or of dim3.
      .replace("  WEIR_BOTH constexpr dim3(uint3 v)", R"(  template <class weir_B, class = typename weir_B::weir_built_in>
  WEIR_DEVICE dim3(const weir_B& b) : x(b.x), y(b.y), z(b.z) {}
  WEIR_BOTH constexpr dim3(uint3 v))");
}

// The linker merges the variables of a program's files, because a thread that waits in one file's function was started by
// another's. A kernel's own module has one file, so there these are static.
#define WEIR_MERGED "__attribute__((weak, visibility(\"hidden\")))"

Text variables() {
  return Text(host::prelude_variables)
      .replace("alignas(64) static __attribute__((device, visibility(\"hidden\"))) __thread",
               "alignas(64) " WEIR_MERGED " __attribute__((device)) __thread")
      // Its address tells it from a copy, also in a function that another file defines, too.
      .replace("static constexpr weir_##name##_type name;", "inline constexpr weir_##name##_type name;")
      .replace("constexpr weir_##name##_type() : weir_v() {}",
               "typedef int weir_built_in; constexpr weir_##name##_type() : weir_v() {}");
}

Text launches() {
  return Text(host::prelude_launches)
      .replace("WEIR_DEVICE static const launch_services* services;",
               "WEIR_DEVICE " WEIR_MERGED " const launch_services* services;")
      // The work-group pass makes the kernels' records.
      .replace("template <bool...>\nconstexpr bool all", "overloaded(const char* name) { return {name}; }\n", "");
}

Text groups() {
  return Text(host::prelude_groups)
      .replace("WEIR_DEVICE __attribute__((used)) extern const int __weir_fiber_warp_size",
               "WEIR_DEVICE __attribute__((used)) " WEIR_MERGED " extern const int __weir_fiber_warp_size")
      .replace("template <class... P, void (*const* kernel)(P...)>\nstruct launcher", "}  // namespace weir_host\n",
               "}  // namespace weir_host\n");
}

Text module() {
  return Text(host::prelude_module)
      .replace("WEIR_DEVICE const module_record weir_host_module_10 = {",
               "WEIR_DEVICE __attribute__((weak)) const module_record weir_host_module_10 = {")
      .replace("WEIR_DEVICE const char weir_host_cpu_features[] = \"\"",
               "WEIR_DEVICE __attribute__((weak)) const char weir_host_cpu_features[] = \"\"")
      .replace("WEIR_DEVICE __attribute__((noinline, visibility(\"hidden\"))) int weir_printf(",
               "WEIR_DEVICE __attribute__((noinline, weak, visibility(\"hidden\"))) int weir_printf(")
      .replace("WEIR_DEVICE __attribute__((noreturn, noinline, cold))",
               "WEIR_DEVICE __attribute__((noreturn, noinline, cold, weak, visibility(\"hidden\")))");
}

Text nvidia_library() {
  return Text(kernels::nvidia_library)
      .replace("// The driver's vprintf", "#define printf(...) weir_printf(__VA_ARGS__)\n", "");
}

// Programs count on warps of 32 lanes, so a wavefront of 64 lanes is two warps. No macro or builtin has its size in all
// releases of Clang, so the family of the GPU decides.
Text amd_entries() {
  return Text(kernels::amd_entries)
      .replace("WEIR_ENTRY int __weir_lane() noexcept {", "WEIR_ENTRY int weir_hardware_lane() noexcept {")
      .replace("return (int)(warpSize == 64 ? __builtin_amdgcn_mbcnt_hi(~0u, low) : low);",
               "\n#ifdef __GFX9__\n  return (int)__builtin_amdgcn_mbcnt_hi(~0u, low);\n#else\n  return (int)low;\n#endif")
      .replace("WEIR_ENTRY bool __weir_is_shared(",
               R"(WEIR_ENTRY int __weir_lane() noexcept { return weir_hardware_lane() % 32; }
WEIR_ENTRY unsigned int weir_of_warp(unsigned long long lanes) noexcept {
  return (unsigned int)(lanes >> (weir_hardware_lane() & 32));
}
WEIR_ENTRY bool __weir_is_shared()")
      .replace("return __builtin_amdgcn_read_exec();", "return weir_of_warp(__builtin_amdgcn_read_exec());")
      .replace("#if WEIR_WARP_SIZE == 64", "#ifdef __GFX9__")
      .replace("return mask != 0 ? lanes & mask : lanes;",
               "const unsigned int those = weir_of_warp(lanes);\n  return mask != 0 ? those & (unsigned int)mask : those;")
      .replace("(unsigned int)source_lane < (unsigned int)warpSize ? source_lane : __weir_lane();",
               "((unsigned int)source_lane < 32 ? source_lane : __weir_lane()) + (weir_hardware_lane() & 32);");
}

// CUDA has these functions in host code, too. A newer C library declares those of C23 itself.
Text math() {
  Text text(host::prelude_math);
  for (const char* const name :
       {"float rsqrtf", "double rsqrt", "double sinpi", "double cospi", "float sinpif", "float cospif"})
    text.replace(std::string("WEIR_C_FUNCTION ") + name, std::string("WEIR_C23_FUNCTION ") + name);
  // Defined as functions with C's linkage, as CUDA's are: programs declare some of them again.
  text.replace("#define WEIR_C_FUNCTION", R"(#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 41)
#define WEIR_C23_FUNCTION WEIR_DEVICE inline __attribute__((always_inline))
#else
#define WEIR_C23_FUNCTION WEIR_BOTH inline __attribute__((always_inline))
#endif
#define WEIR_C_FUNCTION)");
  text.replace("typedef long clock_t;  // as in the C library\n", "");
  return text;
}

std::string device_header(Target target) {
  std::string text =
      "// Generated from Weir's kernel language (cudart/device_header.cpp).\n#pragma once\n"
      "#pragma clang system_header\n";
  const bool cpu = target == Target::cpu, nvidia = target == Target::nvidia;
  text.append("#define WEIR_WARP_SIZE 32\n");
  if (!cpu) text.append("#define WEIR_GPU 1\n#pragma float_control(push)\n#pragma clang fp contract(off)\n");
  text.append(library(target)).append(types()).append("#include <weir_system_headers.h>\n");
  text.append("#define WEIR_SET_PLACE(name, file, line, number) ((void)0)\n#define WEIR_SPIN() ((void)0)\n");
  if (cpu) {
    text.append(
        "#define WEIR_ENTRY WEIR_DEVICE\n#define WEIR_PURE __attribute__((const))\n"
        "#define WEIR_CONVERGENT __attribute__((convergent))\n"
        "#define WEIR_FIBER(name) __weir_fiber_##name\n"
        "#ifndef WEIR_KEPT\n#define WEIR_KEPT __attribute__((used))\n#endif\n"
        "#define WEIR_FIBER_ENTRY WEIR_DEVICE WEIR_KEPT WEIR_ALWAYS_INLINE\n");
    text.append(kernels::device_entries);
    // The host half of a program reads declarations only.
    text.append("#ifndef __CUDA_ARCH__\n#define WEIR_GPU 1\n#endif\n").append(variables());
    text.append("#ifdef __CUDA_ARCH__\n")
        .append(launches())
        .append(both_begin)
        .append(kernels::fiber_threads)
        .append(both_end);
    text.append("#else\n#undef WEIR_GPU\n#endif\n")
        .append(both_begin)
        .append(kernels::lane_functions)
        .append(kernels::device_threads)
        .append(both_end);
  } else {
    text.append("#define WEIR_ENTRY WEIR_DEVICE WEIR_ALWAYS_INLINE\n#define WEIR_PURE\n#define WEIR_CONVERGENT\n");
    text.append(kernels::device_entries)
        .append(variables())
        .append(nvidia ? kernels::nvidia_entries : std::string_view(amd_entries()))
        .append(Text(kernels::gpu_entries).replace("typedef long clock_t;\n", ""))
        .append(nvidia ? kernels::nvidia_grid : kernels::amd_grid)
        .append(both_begin)
        .append(kernels::lane_functions)
        .append(kernels::device_threads)
        .append(both_end);
    text.append(nvidia ? std::string_view(nvidia_library()) : kernels::amd_library).append(kernels::gpu_library);
  }
  text.append(math())
      .append("#undef WEIR_C23_FUNCTION\n")
      .append(host::prelude_packed)
      .append(both_begin)
      .append(kernels::runtime_atomics);
  if (!cpu) text.append(nvidia ? kernels::nvidia_atomics : kernels::amd_atomics);
  if (cpu) text.append("#ifdef __CUDA_ARCH__\n").append(groups()).append(both_end).append(module()).append("#else\n");
  text.append(both_end);
  if (cpu) text.append("#endif\n");
  text.append(kernels::overloads).append(kernels::dynamic_programming).append(kernels::program_memory);
  if (target == Target::amd) {
    for (const char* const name : {"fetch_add", "fetch_sub", "fetch_min", "fetch_max", "fetch_and", "fetch_or", "fetch_xor",
                                   "load", "exchange", "compare_exchange"})
      text.append("#undef __atomic_").append(name).append("\n");
  }
  text.append(kernels::ordered_atomics);
  if (!cpu) text.append("#pragma float_control(pop)\n");  // the program has what its options say
  return text;
}

// The generator XORWOW (G. Marsaglia, "Xorshift RNGs") is a linear map of 160 bits. So n steps of it are a polynomial in one
// step: x^n modulo the map's characteristic polynomial. The table has those for n = 2^0 … 2^63, which skip numbers of a
// sequence, and for n = 2^67 … 2^130, which skip sequences.
std::string xorwow_jumps() {
  using Polynomial = std::array<std::uint32_t, 5>;
  constexpr Polynomial characteristic = {0x60001, 0x8610030, 0x62121, 0xf3c0035, 0xf0e};  // without x^160
  const auto times_x = [&](const Polynomial& p) {
    Polynomial result{};
    for (int i = 0; i < 5; ++i) result[i] = p[i] << 1 | (i > 0 ? p[i - 1] >> 31 : 0);
    for (int i = 0; i < 5 && p[4] >> 31 != 0; ++i) result[i] ^= characteristic[i];
    return result;
  };
  const auto squared = [&](const Polynomial& p) {
    Polynomial result{}, power = p;  // the power is x^bit times p
    for (int bit = 0; bit < 160; ++bit, power = times_x(power)) {
      for (int i = 0; i < 5 && (p[bit / 32] >> bit % 32 & 1) != 0; ++i) result[i] ^= power[i];
    }
    return result;
  };
  std::string text =
      "// Generated by cudart/device_header.cpp.\n#pragma once\n"
      "static __device__ const unsigned int weir_xorwow_jumps[2][64][5] = {\n";
  Polynomial jump = {2};
  for (int k = 0; k <= 130; ++k, jump = squared(jump)) {
    if (k >= 64 && k < 67) continue;
    text += k == 0 || k == 67 ? "{{" : "{";
    for (const std::uint32_t word : jump) text += std::to_string(word) + "u,";
    text += k == 63 || k == 130 ? "}},\n" : "},\n";
  }
  return text + "};\n";
}

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Programs define macros such as N and T, on the command line too. So names of one letter become longer.
void write(const std::filesystem::path& file, std::string_view given) {
  static const std::regex letter(R"(\b([DFIMPSTU])\b(?!["']|\. ))");
  const std::string text = std::regex_replace(std::string(given), letter, "weir_$1");
  std::filesystem::create_directories(file.parent_path());
  if (read(file) == text) return;
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

// A header of CUDA's that device code includes, with NVIDIA's guard, so that a toolkit's header of that name stays out.
std::string header(const char* guard, std::string_view text) {
  std::string all = "// Generated from Weir's kernel language (cudart/device_header.cpp).\n";
  all.append("#ifndef ").append(guard).append("\n#define ").append(guard).append("\n#pragma GCC system_header\n");
  return all.append("#include <cuda_runtime.h>\n").append(text).append("#endif\n");
}

// HIP's names that do not follow the rule, each with CUDA's.
constexpr const char* hip_exceptions =
    "hipDeviceProp_t cudaDeviceProp hipDeviceAttribute_t cudaDeviceAttr hipPointerAttribute_t cudaPointerAttributes "
    "hipLimit_t cudaLimit hipFuncCache_t cudaFuncCache hipDevice_t int hipHostMalloc cudaMallocHost hipHostFree "
    "cudaFreeHost hipHostMallocDefault cudaHostAllocDefault hipHostMallocPortable cudaHostAllocPortable "
    "hipHostMallocMapped cudaHostAllocMapped hipHostMallocWriteCombined cudaHostAllocWriteCombined "
    "hipHostMallocCoherent cudaHostAllocDefault hipHostMallocNonCoherent cudaHostAllocDefault "
    "hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount "
    "hipDeviceAttributeMemoryBusWidth cudaDevAttrGlobalMemoryBusWidth hipErrorOutOfMemory cudaErrorMemoryAllocation "
    "hipErrorNotInitialized cudaErrorInitializationError hipErrorDeinitialized cudaErrorCudartUnloading "
    "hipErrorInvalidHandle cudaErrorInvalidResourceHandle hipErrorInvalidImage cudaErrorInvalidKernelImage "
    "hipErrorInvalidContext cudaErrorDeviceUninitialized hipErrorNoBinaryForGpu cudaErrorNoKernelImageForDevice "
    "hipErrorNotFound cudaErrorSymbolNotFound __hip_bfloat16 __nv_bfloat16 __hip_bfloat162 __nv_bfloat162 "
    "hip_bfloat16 __nv_bfloat16 hipcub cub";

// HIP's names for all that CUDA's headers in the folder declare, and for complex and random numbers.
std::string hip_names(const std::filesystem::path& folder) {
  std::string text = std::string(kernels::textures).append(kernels::random_numbers);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) text += read(entry.path());
  }
  std::set<std::string> names;
  // Strings and comments match first.
  const std::regex pattern(
      R"("[^"\n]*"|//.*|/\*[^*]*|\b(make_)?(cuda[A-Z]|curand|CURAND_|cu(C[adfimors]|FloatC|DoubleC))\w*)");
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    if (!std::isalpha(static_cast<unsigned char>(at->str()[0]))) continue;
    names.insert(at->str());
    if (at->str().starts_with("cuC")) names.insert(at->str() + "f");  // cuCadd##suffix
  }
  std::string all = "// Generated from CUDA's names (cudart/device_header.cpp).\n#pragma once\n#pragma GCC system_header\n";
  const auto define = [&](const std::string& hip, const std::string& cuda) { all += "#define " + hip + " " + cuda + "\n"; };
  for (const std::string& name : names) {
    const std::string hip = std::regex_replace(std::regex_replace(name, std::regex("cuda|cu(?=[CFDr])"), "hip"),
                                               std::regex("DevAttr"), "DeviceAttribute");
    define(std::regex_replace(hip, std::regex("^CU"), "HIP"), name);
  }
  std::istringstream exceptions(hip_exceptions);
  for (std::string hip, cuda; exceptions >> hip >> cuda;) define(hip, cuda);
  for (const std::string kind : {"threadIdx", "blockIdx", "blockDim", "gridDim"}) {
    for (const char axis : {'x', 'y', 'z'})
      define(std::string("hip") + char(kind[0] - 'a' + 'A') + kind.substr(1) + "_" + axis, kind + "." + axis);
  }
  return all;
}

// HIP's headers, each with CUDA's.
constexpr const char* hip_headers =
    "hip/hip_fp16.h cuda_fp16.h hip/hip_bf16.h cuda_bf16.h hip/hip_bfloat16.h cuda_bf16.h hip/hip_complex.h cuComplex.h "
    "hip/hip_vector_types.h vector_types.h "
    "hip/hip_cooperative_groups.h cooperative_groups.h hiprand/hiprand_kernel.h curand_kernel.h hipcub/hipcub.hpp "
    "cub/cub.cuh";

void write_headers(const std::filesystem::path& folder, const std::filesystem::path& include, std::span<char*> plain) {
  for (const char* const name : plain) write(folder / name, "#include <cuda_runtime.h>\n");
  write(folder / "weir_hip_names.h", hip_names(include));
  std::istringstream forwarding(hip_headers);
  for (std::string name, cuda; forwarding >> name >> cuda;)
    write(folder / name, "#include <hip/hip_runtime.h>\n#include <" + cuda + ">\n");
  write(folder / "weir_device_cpu.h", device_header(Target::cpu));
  write(folder / "weir_device_nvidia.h", device_header(Target::nvidia));
  write(folder / "weir_device_amd.h", device_header(Target::amd));
  const auto narrow = [](std::string_view text) { return Text(text).replace("__WEIR_HOST__", "__CUDA__"); };
  write(folder / "cuda_fp16.h", header("__CUDA_FP16_H__", narrow(kernels::half_header)));
  write(folder / "cuda_bf16.h", header("__CUDA_BF16_H__", narrow(kernels::bfloat16_header)));
  write(folder / "cuda_fp8.h",
        header("__CUDA_FP8_H__",
               std::string(kernels::fp8_header).append("#include <cuda_bf16.h>\n").append(kernels::fp8_conversions)));
  write(folder / "math_constants.h", header("__MATH_CONSTANTS_H__", kernels::math_constants_header));
  write(folder / "cooperative_groups.h", header("_COOPERATIVE_GROUPS_H_", kernels::groups_text));
  write(folder / "cuda/barrier", header("_CUDA_BARRIER", kernels::barrier_header));
  write(folder / "cublas_v2.h", header("CUBLAS_V2_H_", kernels::cublas));
  write(folder / "cublasLt.h", header("CUBLASLT_H_", kernels::cublas_lt));
  write(folder / "weir_textures.h", std::string("#pragma once\n#pragma GCC system_header\n").append(kernels::textures));
  write(folder / "curand_kernel.h", header("CURAND_KERNEL_H_", kernels::random_numbers));
  write(folder / "weir_xorwow_jumps.h", xorwow_jumps());
  const std::string begin = "#pragma once\n#pragma GCC system_header\n#include <cuda_runtime.h>\n";
  for (const auto& [name, text] : kernels::cub_files) write(folder / name, begin + std::string(text));
  for (const auto& [name, text] : kernels::standard_files()) write(folder / name, begin + text);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: weir_device_header FOLDER CUDART_INCLUDE [header that includes cuda_runtime.h]...\n", stderr);
    return 2;
  }
  try {
    write_headers(arguments[1], arguments[2], std::span(arguments, static_cast<std::size_t>(count)).subspan(3));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir_device_header: %s\n", error.what());
    return 1;
  }
  return 0;
}
