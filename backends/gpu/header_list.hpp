// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/gpu_headers.hpp"
#include "weir/module.hpp"

namespace weir::gpu {

/// The headers for a run-time compiler: those in the options, and those that kernels for all backends may include. `options`
/// must outlive this object.
struct HeaderList {
  explicit HeaderList(const CompileOptions& options) {
    for (const auto& [name, text] : options.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    const auto add = [this](const auto& headers) {
      for (const kernels::DeviceHeader& header : headers) {
        names.push_back(header.name);
        texts.push_back(header.text);
      }
    };
    add(kernels::standard_headers);
    add(kernels::device_headers);
  }

  int count() const noexcept { return static_cast<int>(names.size()); }

  std::vector<const char*> names, texts;
};

}  // namespace weir::gpu
