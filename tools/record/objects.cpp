// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tools/model/process_memory.hpp"
#include "tools/model/step.hpp"
#include "tools/record/recorder.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/stream.hpp"

// The part of the recorder that replaces objects and addresses by numbers.
namespace weir::recording {

using detail::NumberWriter;
using model::number_of;

Recorder::Number Recorder::device_of(const Device& device) {
  const auto [there, is_new] = devices_.try_emplace(&device, static_cast<Number>(devices_.size()));
  if (is_new) file_.add(record::device, device.describe() + " " + device.properties().architecture, {});
  return there->second;
}

Recorder::Number Recorder::stream_of(const Operation& operation) {
  const auto [there, is_new] = streams_.try_emplace(operation.stream_key, streams_made_);
  if (!is_new) return there->second;
  ++streams_made_;
  const Stream& stream = *operation.stream;
  SavedStream saved{};
  saved.device = device_of(*operation.device);
  saved.is_default = stream.kind() == StreamKind::legacy_default;
  if (operation.capture == 0) {  // drivers do not report these for a capturing stream
    saved.is_blocking = !saved.is_default && !stream.is_non_blocking();
    saved.priority = stream.priority();
  }
  if (stream.kind() == StreamKind::borrowed || stream.kind() == StreamKind::adopted)
    add_omission(fmt::format("work that other code submits to {}, which belongs to that code", model::place_of(operation)));
  NumberWriter data;
  data.put(saved);
  file_.add(record::stream, stream.name(), data.bytes);
  return there->second;
}

Recorder::Number Recorder::event_of(const Event& event) {
  const auto [there, is_new] = events_.try_emplace(&event, KnownEvent{events_made_, event.options().timing});
  if (!is_new && there->second.timing == event.options().timing) return there->second.number;
  there->second = {events_made_++, event.options().timing};
  NumberWriter data;
  data.put(device_of(event.device()));
  data.put(std::uint32_t{event.options().timing});
  file_.add(record::event, "", data.bytes);
  return there->second.number;
}

Recorder::Number Recorder::module_of(const Module& module) {
  const auto [there, is_new] = modules_.try_emplace(&module, static_cast<Number>(modules_.size()));
  if (!is_new) return there->second;
  kept_modules_.push_back(ModulePtr(const_cast<Module*>(&module)));
  NumberWriter data;
  data.put(device_of(module.device()));
  data.append(module.bundle());
  file_.add(record::module, "", data.bytes);
  return there->second;
}

Recorder::Number Recorder::kernel_of(const Kernel& kernel) {
  const auto [there, is_new] = kernels_.try_emplace(&kernel, static_cast<Number>(kernels_.size()));
  if (!is_new) return there->second;
  kept_kernels_.push_back(KernelPtr(const_cast<Kernel*>(&kernel)));
  NumberWriter data;
  data.put(module_of(*kernel.module()));
  file_.add(record::function, kernel.name(), data.bytes);
  return there->second;
}

std::optional<SavedAddress> Recorder::find(std::uintptr_t address, std::size_t bytes) const {
  const Block* const block = blocks_.find(address);
  if (block == nullptr || bytes > block->end - address) return std::nullopt;
  return SavedAddress{block->number, 0, address - block->begin};
}

SavedAddress Recorder::place_of(const Operation& operation, const void* address, std::size_t bytes, bool writes) {
  if (const auto there = find(number_of(address), bytes)) return *there;
  if (!model::is_readable(address)) {
    add_omission(fmt::format("the contents of memory unknown to Weir, which {} {}", model::what_of(operation),
                             writes ? "writes" : "reads"));
  }
  return {of_host, 0, number_of(address)};
}

}  // namespace weir::recording
