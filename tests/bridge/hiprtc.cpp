// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bridge.hpp"
#include "nvrtc.hpp"

/// HIPRTC, implemented on NVRTC. It accepts gfx targets and returns code for the NVIDIA device.
using namespace bridge;

namespace {

hiprtcResult from_nvrtc(nvrtcResult result) {
  return static_cast<int>(result) <= 11 ? static_cast<hiprtcResult>(result) : HIPRTC_ERROR_INTERNAL_ERROR;
}
nvrtcProgram program_of(hiprtcProgram program) { return handle<nvrtcProgram>(program); }

template <class F>
hiprtcResult with_compiler(F&& function) {
  const Nvrtc* const compiler = nvrtc();
  return compiler == nullptr ? HIPRTC_ERROR_INTERNAL_ERROR : function(*compiler);
}

bool is_known_target(std::string_view target) {
  static constexpr std::string_view known[] = {"gfx803",  "gfx900",  "gfx906",  "gfx908",  "gfx90a", "gfx942",
                                               "gfx1010", "gfx1030", "gfx1100", "gfx1101", "gfx1200"};
  return std::find(std::begin(known), std::end(known), target.substr(0, target.find(':'))) != std::end(known);
}

std::string native_architecture() {
  const auto get = [](CUdevice_attribute a) { return std::to_string(attribute_of(current_device(), a)); };
  if (cuda() == nullptr) return "sm_80";
  return "sm_" + get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/// clang's options as NVRTC's; false where the compiler would not know one. A wrong target ends the process, as it does
/// there.
bool translate(const Nvrtc& compiler, int count, const char** options, std::vector<std::string>& to) {
  std::string target;
  for (int i = 0; i < count; ++i) {
    const std::string_view option = options[i];
    const auto value_of = [&](std::string_view name) {
      return option.starts_with(name) ? std::string(option.substr(name.size())) : std::string();
    };
    if (std::string given = value_of("--offload-arch="); !given.empty()) {
      target = given;
    } else if (given = value_of("--gpu-architecture="); !given.empty()) {
      target = given;
    } else if (option == "-ffast-math") {
      to.emplace_back("--use_fast_math");
    } else if (option == "-g") {
      to.emplace_back("-lineinfo");
    } else if (option.starts_with("-std=c++") || option.starts_with("-D") || option.starts_with("-I")) {
      to.emplace_back(option);
    } else if (option == "-include" && i + 1 < count) {
      to.push_back("--pre-include=" + std::string(options[++i]));
    } else if (!option.starts_with("-O") && !option.starts_with("-W") && !option.starts_with("-m")) {
      return false;
    }
  }
  if (target.empty() && cuda() == nullptr) return false;  // "Please provide architecture"
  if (!target.empty() && !is_known_target(target)) undefined("hiprtcCompileProgram", "the architecture is not known");
  to.push_back("--gpu-architecture=" + native_architecture());
  to.emplace_back("--device-as-default-execution-space");  // as clang takes a constexpr function for both sides
  for (const std::string& folder : compiler.header_folders) to.push_back("--include-path=" + folder);
  return true;
}

}  // namespace

extern "C" {

const char* hiprtcGetErrorString(hiprtcResult result) {
  switch (result) {
    case HIPRTC_SUCCESS: return "HIPRTC_SUCCESS";
    case HIPRTC_ERROR_INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
    case HIPRTC_ERROR_INVALID_PROGRAM: return "HIPRTC_ERROR_INVALID_PROGRAM";
    case HIPRTC_ERROR_INVALID_OPTION: return "HIPRTC_ERROR_INVALID_OPTION";
    case HIPRTC_ERROR_COMPILATION: return "HIPRTC_ERROR_COMPILATION";
    default: return "HIPRTC_ERROR_INTERNAL_ERROR";
  }
}

hiprtcResult hiprtcVersion(int* major, int* minor) {
  *major = 9;  // whatever the release
  *minor = 0;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name, int header_count,
                                 const char** headers, const char** header_names) {
  return with_compiler([&](const Nvrtc& compiler) {
    return from_nvrtc(compiler.CreateProgram(reinterpret_cast<nvrtcProgram*>(program), source, name, header_count, headers,
                                             header_names));
  });
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char** options) {
  return with_compiler([&](const Nvrtc& compiler) {
    std::vector<std::string> translated;
    if (!translate(compiler, count, options, translated)) return HIPRTC_ERROR_COMPILATION;
    std::vector<const char*> native;
    for (const std::string& option : translated) native.push_back(option.c_str());
    return from_nvrtc(compiler.CompileProgram(program_of(program), static_cast<int>(native.size()), native.data()));
  });
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) {
  return with_compiler([&](const Nvrtc& compiler) {
    return from_nvrtc(compiler.DestroyProgram(reinterpret_cast<nvrtcProgram*>(program)));
  });
}
hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* size) {
  return with_compiler(
      [&](const Nvrtc& compiler) { return from_nvrtc(compiler.GetProgramLogSize(program_of(program), size)); });
}
hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log) {
  return with_compiler([&](const Nvrtc& compiler) { return from_nvrtc(compiler.GetProgramLog(program_of(program), log)); });
}
hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* size) {
  return with_compiler([&](const Nvrtc& compiler) { return from_nvrtc(compiler.GetCUBINSize(program_of(program), size)); });
}
hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code) {
  return with_compiler([&](const Nvrtc& compiler) { return from_nvrtc(compiler.GetCUBIN(program_of(program), code)); });
}
hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char* name) {
  return with_compiler(
      [&](const Nvrtc& compiler) { return from_nvrtc(compiler.AddNameExpression(program_of(program), name)); });
}
hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char* name, const char** lowered) {
  return with_compiler(
      [&](const Nvrtc& compiler) { return from_nvrtc(compiler.GetLoweredName(program_of(program), name, lowered)); });
}
}
