// SPDX-License-Identifier: Apache-2.0
#include "tests/workgroup/driver.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace driver {
namespace {

using weir::host::BlockRange;

// Memory with arbitrary content, because kernels must not rely on zeros.
void* take(std::size_t bytes) {
  const std::size_t whole = (bytes + 127) / 64 * 64;
  void* const memory = std::aligned_alloc(64, whole);
  std::memset(memory, 0xab, whole);
  return memory;
}

void fail(void* launch, const weir::host::KernelFault& fault) {
  auto& outcome = *static_cast<Outcome*>(launch);
  outcome.fault = std::string(fault.function) + " at " + fault.place;
  if (fault.others != nullptr) outcome.fault += std::string(", others in ") + fault.others;
  outcome.here = fault.here;
  outcome.expected = fault.expected;
  outcome.missing = fault.missing_lanes;
}

constexpr weir::host::LaunchServices services{take, std::free, fail, nullptr, nullptr, nullptr};

}  // namespace

Module::Module(const char* path)
    :  // Kernels that were refused still ask for entries, which nobody defines here.
      handle_(dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
}

weir::host::RunBlocks Module::find(const std::string& kernel) const {
  return reinterpret_cast<weir::host::RunBlocks>(dlsym(handle_, ("weir_run_" + kernel).c_str()));
}

Outcome Module::launch(const std::string& kernel, Size grid, Size block, std::vector<const void*> arguments,
                       std::size_t shared_bytes, std::uint64_t in_range) const {
  const auto run = find(kernel);
  Outcome outcome;
  if (run == nullptr) {
    outcome.fault = "not formed";
    return outcome;
  }
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  for (std::uint64_t first = 0; first < blocks; first += in_range) {
    BlockRange range{};
    range.grid[0] = grid.x, range.grid[1] = grid.y, range.grid[2] = grid.z;
    range.block[0] = block.x, range.block[1] = block.y, range.block[2] = block.z;
    range.first_block = first;
    range.last_block = std::min(first + in_range, blocks);
    range.shared_bytes = shared_bytes;
    range.services = &services;
    range.launch = &outcome;
    run(range, arguments.data());
    if (!outcome.fault.empty()) break;
  }
  return outcome;
}

}  // namespace driver
