// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
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
      for (const auto& header : headers) {
        names.push_back(header.name);
        texts.push_back(header.text);
      }
    };
    add(kernels::standard_headers);
    add(kernels::device_headers);
    // The program's own CUB has more than Weir's.
    const auto has_cub = [](const std::string& folder) {
      std::error_code error;
      return std::filesystem::exists(std::filesystem::path(folder) / "cub/block/block_reduce.cuh", error);
    };
    const std::vector<std::string>& folders = options.include_directories;
    if (std::none_of(folders.begin(), folders.end(), has_cub)) add(kernels::cub_files);
  }

  int count() const noexcept { return static_cast<int>(names.size()); }

  std::vector<const char*> names, texts;
};

}  // namespace weir::gpu
