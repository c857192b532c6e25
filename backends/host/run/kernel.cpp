// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "backends/host/run/fiber_stacks.hpp"
#include "backends/host/run/module.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {

namespace {

std::vector<Parameter> parameters_of(const KernelRecord& record) {
  std::vector<Parameter> parameters(record.parameter_count);
  std::uint64_t updates = record.update_kinds;  // one byte for each parameter in `atomic_kinds`
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = parameters[i];
    const auto is_in = [&](std::uint64_t kinds) { return i < 64 && (kinds >> i & 1U) != 0; };
    parameter.size = static_cast<std::uint32_t>(record.parameter_sizes[i]);
    // An address counts as an integer here, because neither is a floating-point number.
    if (is_in(record.known_kinds))
      parameter.kind = is_in(record.floating_kinds) ? ParameterKind::floating : ParameterKind::integer;
    if (is_in(record.constant_kinds)) parameter.access = AccessKind::read;
    if (!is_in(record.atomic_kinds)) continue;
    parameter.access = AccessKind::atomic;
    parameter.update = static_cast<UpdateKind>(updates & 0xff);
    updates >>= 8;
  }
  return parameters;
}

}  // namespace

HostKernel::HostKernel(Ptr<HostModule> module, std::string name, const KernelRecord& record)
    : KernelImpl(ModulePtr(module.get()), std::move(name), reinterpret_cast<void*>(record.run),
                 parameters_of(record), true),
      run_(record.run),
      code_(module->code()),
      max_threads_per_block_(static_cast<std::uint32_t>(device().properties().max_threads_per_block)),
      tier_(record.tier),
      is_compiled_here_(module->is_compiled_here()) {
  if (record.max_threads_per_block != 0)
    max_threads_per_block_ = std::min(max_threads_per_block_, record.max_threads_per_block);
}

KernelProperties HostKernel::do_properties() const {
  KernelProperties properties{.max_threads_per_block = max_threads_per_block_};
  if (tier_ == KernelTier::workgroup) properties.tier = "workgroup";
  if (tier_ == KernelTier::fibers) properties.tier = "fibers";
  return properties;
}

void HostKernel::warn_of_fibers() const noexcept try {
  if (!is_compiled_here_) return;  // this machine's compiler is not the reason
  static std::atomic<bool> is_told{false};
  if (is_told.load(std::memory_order_relaxed) || is_told.exchange(true)) return;
  const std::string& compiler = device().backend().versions().compiler;  // with the path of the pass, if it has one
  if (compiler.find("/weir_workgroup-") != std::string::npos || support::environment("WEIR_HOST_TIER")) return;
  support::log(support::LogLevel::warn,
               fmt::format("threads of kernel '{}' wait on fibers, up to 300 times slower than with the work-group pass, "
                           "which the compiler lacks ({}); 'weir doctor' or 'python -m weir info' names what to install, "
                           "and WEIR_HOST_TIER=fibers ends this warning",
                           name(), compiler));
} catch (const std::exception&) {
  // Out of memory: there is no warning.
}

// The result is 1, because a worker runs one block at a time.
int HostKernel::do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const {
  const bool fits = block_threads != 0 && block_threads <= max_threads_per_block_ &&
                    shared_memory_bytes <= device().properties().shared_memory_per_block_optin;
  return fits ? 1 : 0;
}

// A worker runs the threads of a block in a loop. The loop should be long enough that starting it costs little, and short
// enough that the arrays of its threads stay in the first-level cache.
std::uint32_t HostKernel::do_suggested_block_size(std::size_t) const {
  return std::min<std::uint32_t>(256, max_threads_per_block_);
}

int warp_size() {
  constexpr const char* variable = "WEIR_HOST_WARP_SIZE";
  const std::string size = support::environment(variable).value_or("32");
  if (size == "32") return 32;
  if (size == "64") return 64;
  throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, size), "",
              "a warp has 32 or 64 threads here; set it to 32 or 64, or unset it");
}

Error fault_error(const HostKernel& kernel, const KernelFault& fault) {
  const std::string block = fmt::format("block ({}, {}, {})", fault.block[0], fault.block[1], fault.block[2]);
  std::string cause;
  const std::string object = fmt::format("kernel '{}' on {}", kernel.name(), kernel.device().describe());
  if (fault.function == std::string_view("sync of a grid_group") && fault.expected == 0) {
    cause = "blocks can wait for each other only in a cooperative launch; use LaunchConfig{.cooperative = true}";
  } else if (fault.function == std::string_view("sync of a grid_group") && fault.thread == whole_grid) {
    cause = fmt::format("{} of the {} blocks reach {}, but the others have returned; all blocks must reach it", fault.here,
                        fault.expected, fault.function);
  } else if (fault.expected != 0) {
    cause = fmt::format(
        "{} of the {} threads of {} that have not returned reach {}, but the others do not; all of them must reach it, or "
        "return before it",
        fault.here, fault.expected, block, fault.function);
  } else if (fault.missing_lanes != 0) {
    cause = fmt::format(
        "thread {} of {} calls {} for lanes that do not call it (0x{:x}); the mask must contain only lanes that do",
        fault.thread, block, fault.function, fault.missing_lanes);
  } else {
    cause = fmt::format("thread {} of {} calls {} with a mask that does not contain its own lane", fault.thread, block,
                        fault.function);
  }
  if (fault.others != nullptr && *fault.others != 0) cause += fmt::format("; others wait in {}", fault.others);
  return {Errc::device_fault, "Stream::launch", object, fmt::format("{}: {}", fault.place, cause)};
}

Error crash_error(const HostKernel& kernel, const KernelCrash& crash, const Dim3& block, const Dim3& last_block) {
  using Cause = KernelCrash::Cause;
  std::string who =
      fmt::format("{} of block ({}, {}, {})", crash.thread ? fmt::format("thread {}", *crash.thread) : "a thread", block.x,
                  block.y, block.z);
  if (last_block.x != block.x)
    who += fmt::format(", or of a later block up to ({}, {}, {}),", last_block.x, block.y, block.z);
  std::string cause;
  switch (crash.cause) {
    case Cause::address: cause = fmt::format("{} accesses address {}, where there is no memory", who, crash.address); break;
    case Cause::no_address: cause = fmt::format("{} accesses an invalid address", who); break;
    case Cause::alignment:
      cause = fmt::format("{} accesses address {}, which is misaligned or no longer has memory", who, crash.address);
      break;
    case Cause::quotient: cause = fmt::format("{} divides an integer by zero, or the lowest integer by -1", who); break;
    case Cause::instruction:
      cause = fmt::format("{} executes a trap, or an instruction that this processor lacks", who);
      break;
    case Cause::assertion: cause = fmt::format("the assertion '{}' of {} fails", crash.condition, who); break;
    case Cause::stack:
      cause = fmt::format("{} needs more than its {}stack; use smaller local arrays, or less recursion", who,
                          crash.thread ? fmt::format("{} KiB of ", fiber_stack_bytes / 1024) : "");
      break;
  }
  const std::string place = crash.file != nullptr
                                ? fmt::format("{}:{}", crash.file, crash.line)
                                : static_cast<const HostModule&>(*kernel.module()).place_of(crash.code);
  return {Errc::device_fault, "Stream::launch", fmt::format("kernel '{}' on {}", kernel.name(), kernel.device().describe()),
          place + ": " + cause};
}

Error out_of_memory_error(const HostKernel& kernel) {
  return {Errc::out_of_memory, "Stream::launch", fmt::format("kernel '{}' on {}", kernel.name(), kernel.device().describe()),
          "memory for the waiting threads of some blocks is exhausted, so these blocks were not run; launch smaller blocks, "
          "or raise the limits of the process (ulimit -v, vm.max_map_count)"};
}

}  // namespace weir::host
