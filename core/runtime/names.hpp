// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/plugin/operation.hpp"
#include "weir/unique_function.hpp"

/// The names that the program has given to streams, events, memory and host functions. They are stored in one table outside
/// of the objects, so that objects without a name cost nothing: an object has only a bit for whether it has a name. Any
/// thread.
namespace weir::detail::names {

// Sets the name of an object. An empty `name` removes it. A stream's name belongs to its native stream, so the newest name
// of several objects counts.
void set(const Stream& stream, std::string_view name);
/// Called when a `Stream` object is closed: removes the name if this object has set it, or if the native stream ends.
void close(const Stream& stream, bool ends_handle) noexcept;
void set(const Event& event, std::string_view name);
void set(const Allocation& memory, std::string_view name);

/// The name of an object, or empty.
std::string of(const StreamKey& stream);
std::string of(const Event& event);
/// The name of the allocation that contains the address.
std::string of_memory(const void* address);

/// Formats a name for a description: " 'copies'", with a leading space and with control characters escaped; "" for an empty
/// name.
std::string quoted(const std::string& name);

/// The name of the host function that runs on `stream` now; "" if none runs or it has no name.
std::string running_function(const StreamKey& stream);
/// Returns a function that calls `function`, during which `running_function(stream)` returns `name`.
HostFunction named_function(const StreamKey& stream, std::string_view name, HostFunction&& function);

}  // namespace weir::detail::names
