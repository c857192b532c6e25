// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "backends/gpu/device_headers.hpp"
#include "weir/module.hpp"

namespace weir::gpu {

/// The headers that a run-time compiler is handed: the options' own, and those that kernels for all backends may include.
/// The options must outlive it.
struct HeaderList {
  explicit HeaderList(const CompileOptions& options) {
    for (const auto& [name, text] : options.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    for (const auto& [name, text] : device_headers) {
      names.push_back(name);
      texts.push_back(text);
    }
  }

  int count() const noexcept { return static_cast<int>(names.size()); }

  std::vector<const char*> names, texts;
};

}  // namespace weir::gpu
