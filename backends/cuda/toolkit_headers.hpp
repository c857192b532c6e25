// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "weir/plugin/support.hpp"

/// Finds the CUDA Toolkit's headers for kernels: half precision, cooperative groups, libcu++.
namespace weir::cuda {

/// Returns the folders in which the NVRTC from the file `library` should search for headers: those of its own toolkit or
/// Python wheel, otherwise those of CUDA_HOME, CUDA_PATH and /usr/local/cuda. If there are none, a kernel that includes such
/// a header does not compile.
inline std::vector<std::string> toolkit_header_folders(const std::string& library) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(library, error).parent_path();
  std::vector<fs::path> candidates;
  for (const char* const way : {"../include", "../../include", "../../cuda_runtime/include"})
    candidates.push_back(folder / way);
  for (const char* const root : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto path = support::environment(root); path && path->starts_with('/'))
      candidates.push_back(fs::path(*path) / "include");
  }
  candidates.emplace_back("/usr/local/cuda/include");
  for (const fs::path& candidate : candidates) {
    if (!fs::exists(candidate / "cuda_fp16.h", error)) continue;
    std::vector<std::string> folders{candidate.lexically_normal()};
    for (const fs::path& libcu : {candidate / "cccl", candidate / "../../cuda_cccl/include"}) {
      if (fs::exists(libcu / "cuda/std/type_traits", error)) folders.push_back(libcu.lexically_normal());
    }
    return folders;
  }
  return {};
}

}  // namespace weir::cuda
