// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

/// Names for readers.
namespace weir::tool {

/// Returns a symbol of C++ as its source has it: "_Z5scalePfi" becomes "scale(float*, int)". Other names stay unchanged.
inline std::string readable_name(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

}  // namespace weir::tool
