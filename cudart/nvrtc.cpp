// SPDX-License-Identifier: Apache-2.0
#include "cudart/include/nvrtc.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "cudart/state.hpp"

// NVRTC's calls over Device::compile. What nvrtcGetPTX gives stands for the source, which each device that loads it compiles
// for itself; Weir's cache has the result.
struct _nvrtcProgram {
  weir::cudart::Source source;
  std::string log, image;
};

namespace weir::cudart {
namespace {

bool add_option(CompileOptions& options, const std::string& option) {
  const bool is_short = option.starts_with("-D") || option.starts_with("-I");
  const std::size_t equals = is_short ? 1 : std::min(option.find('='), option.size() - 1);
  const std::string name = option.substr(0, equals + 1), value = option.substr(equals + 1);
  if (name == "-D" || name == "--define-macro=") {
    const std::size_t end = value.find('=');
    options.defines.emplace_back(value.substr(0, end), end == value.npos ? "1" : value.substr(end + 1));
  } else if (name == "-I" || name == "--include-path=") {
    options.include_directories.push_back(std::filesystem::absolute(value).string());
  } else if ((name == "-std=" || name == "--std=") && value.starts_with("c++")) {
    options.cxx_standard = std::max(std::atoi(value.c_str() + 3), 14);
  } else if (name == "-use_fast_math" || name == "--use_fast_math") {
    options.fast_math = true;
  } else {
    return name == "-arch=" || name == "--gpu-architecture=" || name == "-default-device" || option == "-rdc=false" ||
           name == "--device-as-default-execution-space";
  }
  return true;
}

nvrtcResult copy(const std::string* text, std::size_t* bytes, char* to) {
  if (text == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (bytes != nullptr) *bytes = text->size() + 1;
  if (to != nullptr) std::memcpy(to, text->c_str(), text->size() + 1);
  return bytes != nullptr || to != nullptr ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_INPUT;
}

const std::string* log_of(nvrtcProgram program) { return program != nullptr ? &program->log : nullptr; }
const std::string* image_of(nvrtcProgram program) {
  return program != nullptr && !program->image.empty() ? &program->image : nullptr;
}

}  // namespace
}  // namespace weir::cudart

#pragma GCC visibility push(default)
using namespace weir::cudart;

const char* nvrtcGetErrorString(nvrtcResult result) {
  // clang-format off
  constexpr const char* texts[] = {
    "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY", "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
    "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION", "NVRTC_ERROR_COMPILATION"
  };
  // clang-format on
  return static_cast<unsigned>(result) < std::size(texts) ? texts[result] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  if (program == nullptr || source == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *program = new _nvrtcProgram{{source, {}}, {}, {}};
  if (name != nullptr && *name != 0) (*program)->source.options.name = name;
  for (int i = 0; i < count; ++i) (*program)->source.options.headers.emplace_back(names[i], headers[i]);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  delete std::exchange(*program, nullptr);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  program->log = program->image = "";
  try {
    Source source = program->source;
    for (int i = 0; i < count; ++i) {
      if (add_option(source.options, options[i])) continue;
      program->log = std::string("nvrtcCompileProgram: Weir does not know the option ") + options[i];
      return NVRTC_ERROR_INVALID_OPTION;
    }
    static_cast<void>(current().device->compile(source.text, source.options));
    program->image = add_source(std::move(source));
    return NVRTC_SUCCESS;
  } catch (const std::exception& error) {
    program->log = error.what();
  } catch (const Failure& failure) {
    program->log = std::string("nvrtcCompileProgram: there is no usable device: ") + cudaGetErrorString(failure.error);
  }
  return NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* bytes) { return copy(image_of(program), bytes, nullptr); }
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* ptx) { return copy(image_of(program), nullptr, ptx); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) { return copy(image_of(program), bytes, nullptr); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* cubin) { return copy(image_of(program), nullptr, cubin); }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* bytes) { return copy(log_of(program), bytes, nullptr); }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) { return copy(log_of(program), nullptr, log); }
#pragma GCC visibility pop
