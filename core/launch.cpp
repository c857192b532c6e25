// SPDX-License-Identifier: Apache-2.0
#include "core/thread_state.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/module.hpp"

namespace weir {

std::string to_string(const Dim3& d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

LaunchConfig grid_for(std::size_t count, std::uint32_t block) {
  if (block == 0) throw Error(Errc::invalid_argument, "grid_for", "", "blocks of 0 threads");
  const std::size_t blocks = count == 0 ? 1 : (count - 1) / block + 1;
  if (blocks > 0x7FFFFFFFU) {
    throw Error(Errc::invalid_argument, "grid_for", "",
                std::to_string(count) + " threads need more than 2^31-1 blocks of " + std::to_string(block) +
                    "; let each thread do several elements");
  }
  return {.grid = {static_cast<std::uint32_t>(blocks), 1, 1}, .block = {block, 1, 1}};
}

KernelPtr Module::kernel(std::string_view name) {
  if (detail::barred()) detail::throw_barred("Module::kernel");
  return do_kernel(name);
}

Span<std::byte> Module::global(std::string_view name) {
  if (detail::barred()) detail::throw_barred("Module::global");
  return do_global(name);
}

}  // namespace weir
