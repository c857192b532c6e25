// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvrtc.h>

#include <string>
#include <vector>

/// NVRTC, opened at run time.
namespace bridge {

#define BRIDGE_NVRTC_SYMBOLS(X)                                                                              \
  X(CreateProgram) X(CompileProgram) X(DestroyProgram) X(GetProgramLogSize) X(GetProgramLog) X(GetCUBINSize) \
  X(GetCUBIN) X(AddNameExpression) X(GetLoweredName) X(GetErrorString)

struct Nvrtc {
#define BRIDGE_NVRTC_MEMBER(name) decltype(&::nvrtc##name) name = nullptr;
  BRIDGE_NVRTC_SYMBOLS(BRIDGE_NVRTC_MEMBER)
#undef BRIDGE_NVRTC_MEMBER
  std::vector<std::string> header_folders;  ///< of the toolkit that it belongs to
};

/// Null where there is none.
const Nvrtc* nvrtc() noexcept;

}  // namespace bridge
