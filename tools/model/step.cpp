// SPDX-License-Identifier: Apache-2.0
#include "tools/model/step.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/error_text.hpp"
#include "tools/readable_name.hpp"
#include "weir/device.hpp"
#include "weir/module.hpp"
#include "weir/stream.hpp"

namespace weir::model {

std::string what_of(const Operation& operation) {
  if (operation.kernel != nullptr) return fmt::format("kernel{}", quoted(tool::readable_name(operation.kernel->name())));
  if (operation.kind == OperationKind::host_function && !operation.label.empty())
    return fmt::format("host function{}", quoted(operation.label));
  return operation.kind == OperationKind::free ? "the free" : detail::escaped(operation.name);
}

std::string place_of(const Operation& operation) {
  if (operation.stream == nullptr) return "the host";
  const std::string device = operation.device->describe(), name = model::quoted(operation.stream->name());
  switch (operation.stream->kind()) {
    case StreamKind::legacy_default: return fmt::format("{} default stream{}", device, name);
    case StreamKind::per_thread_default:
      return fmt::format("{} per-thread default stream{} of thread {}", device, name, operation.stream_key.thread);
    default: return fmt::format("{} stream{} {}", device, name, operation.stream_key.handle);
  }
}

std::string quoted(std::string_view name) { return name.empty() ? "" : fmt::format(" '{}'", detail::escaped(name)); }

StepPtr StepMaker::make(const Operation& operation, std::string what, std::string where) {
  Stack stack = take_stack();
  const auto place = places_.emplace(stack, static_cast<std::uint32_t>(places_.size())).first->second;
  return std::make_shared<const Step>(Step{operation.id, std::move(what), std::move(where), operation.device->describe(),
                                           detail::escaped(operation.tag), operation.thread, std::move(stack), place});
}

}  // namespace weir::model
