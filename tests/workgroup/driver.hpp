// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel_abi.hpp"

/// Runs kernels that the work-group pass has compiled, like the workers of the host backend.
namespace driver {

struct Size {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// What a launch reported, or an empty text.
struct Outcome {
  std::string fault;
  std::uint32_t here = 0, expected = 0;
  std::uint64_t missing = 0;
};

class Module {
 public:
  explicit Module(const char* path);
  bool has(const std::string& kernel) const { return find(kernel) != nullptr; }
  /// `arguments`: the address of each parameter's value. The blocks are run in ranges of `in_range`.
  Outcome launch(const std::string& kernel, Size grid, Size block, std::vector<const void*> arguments,
                 std::size_t shared_bytes = 0, std::uint64_t in_range = 3) const;

 private:
  weir::host::RunBlocks find(const std::string& kernel) const;
  void* handle_;
};

}  // namespace driver
