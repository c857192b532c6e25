// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/runtime/launch_check.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/module.hpp"

// The functions of `Module` and `Kernel`, and the shape of launches.
namespace weir {

std::string to_string(const Dim3& d) { return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z); }

void detail::throw_negative_extent(long long number) {
  throw Error(Errc::invalid_argument, "Dim3", "", "an extent cannot be " + std::to_string(number) + "; use 1 or more");
}

void detail::throw_large_extent(unsigned long long number) {
  throw Error(Errc::invalid_argument, "Dim3", "",
              "an extent cannot be " + std::to_string(number) + "; no device supports more than 2^31-1 blocks");
}

LaunchConfig grid_for(std::size_t count, std::uint32_t block) {
  if (block == 0) throw Error(Errc::invalid_argument, "grid_for", "", "a block cannot have 0 threads");
  const std::size_t blocks = count == 0 ? 1 : (count - 1) / block + 1;
  if (blocks > 0x7FFFFFFFU) {
    throw Error(Errc::invalid_argument, "grid_for", "",
                std::to_string(count) + " threads need more than 2^31-1 blocks of " + std::to_string(block) +
                    "; let each thread process several elements");
  }
  return {.grid = {static_cast<std::uint32_t>(blocks), 1, 1}, .block = {block, 1, 1}};
}

KernelPtr Module::untyped_kernel(std::string_view name) {
  const Call call(device_, "Module::kernel");
  if (name.find('\0') != name.npos)
    call.throw_error(Errc::invalid_argument, "the kernel's name contains a zero byte, at which drivers stop reading");
  constexpr std::string_view spaces = " \t\n\v\f\r";
  const std::size_t begin = name.find_first_not_of(spaces);
  if (begin == name.npos) call.throw_error(Errc::kernel_not_found, "the kernel's name is empty; use the name in the source");
  return impl(*this).do_kernel(name.substr(begin, name.find_last_not_of(spaces) + 1 - begin));
}

namespace {

// "4, 4 and 8 bytes"
std::string list_sizes(std::span<const Parameter> parameters) {
  std::string text;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parameters.size() ? " and " : ", ") + std::to_string(parameters[i].size);
  }
  return text.empty() ? "none" : std::to_string(parameters.size()) + " of " + text + " bytes";
}

}  // namespace

Kernel::Kernel(ModulePtr module, std::string name, void* handle, std::vector<Parameter> parameters, bool has_parameter_sizes)
    : module_(std::move(module)),
      name_(std::move(name)),
      handle_(handle),
      parameters_(std::move(parameters)),
      has_parameter_sizes_(has_parameter_sizes),
      parameter_mask_(detail::ParameterMatch::mask(
          has_parameter_sizes_, std::ranges::any_of(parameters_, [](const Parameter& parameter) {
            return parameter.kind != ParameterKind::unknown;
          }))) {}

void detail::check_parameters(const Kernel& kernel, std::span<const Parameter> given) {
  if (are_parameters(kernel, given)) return;
  const std::span there = kernel.parameters();
  std::string cause =
      "its parameters are " + list_sizes(there) + ", but those of the requested type are " + list_sizes(given);
  for (std::size_t i = 0; i < std::min(given.size(), there.size()); ++i) {
    if (kernel.has_parameter_sizes() && (given.size() != there.size() || given[i].size != there[i].size)) break;
    if (!contradict(given[i].kind, there[i].kind)) continue;
    cause = "its parameter " + std::to_string(i + 1) + " of " + std::to_string(given.size()) +
            (given[i].kind == ParameterKind::floating ? " is not a floating-point number" : " is a floating-point number") +
            ", unlike in the requested type";
    break;
  }
  throw Error(Errc::invalid_argument, "Module::kernel", kernel.device().describe(),
              "kernel '" + kernel.name() + "': " + cause + "; use the types with which it is declared");
}

KernelProperties Kernel::properties() const { return impl(*this).do_properties(); }

int Kernel::max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const {
  const Call call(device(), "Kernel::max_active_blocks");
  if (shared_memory_bytes > device().properties().shared_memory_per_block_optin) return 0;
  return impl(*this).do_max_active_blocks(block_threads, shared_memory_bytes);
}

std::uint32_t Kernel::suggested_block_size(std::size_t shared_memory_bytes) const {
  const Call call(device(), "Kernel::suggested_block_size");
  const std::size_t most = device().properties().shared_memory_per_block_optin;
  if (shared_memory_bytes > most) {
    call.throw_error(Errc::invalid_argument,
                     "kernel '" + name_ + "': " + std::to_string(shared_memory_bytes) +
                         " bytes of dynamic shared memory are too many: a block of this device has at most " +
                         std::to_string(most));
  }
  return impl(*this).do_suggested_block_size(shared_memory_bytes);
}

Span<std::byte> Module::global(std::string_view name) {
  const Call call(device_, "Module::global");
  const Span<std::byte> memory = impl(*this).do_global(name);
  perform(device_, OperationKind::module_global, call.operation(),
          [&](ToolNotice& notice) {
            notice->module = this;
            notice->label = name;
            notice.writes(memory.data(), memory.size());
          },
          [] {});
  return memory;
}

}  // namespace weir
