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

// Sets the name of an object. An empty `name` removes it.
void set(const Stream& stream, std::string_view name);
/// Called when a `Stream` object is closed: removes the name that this object has set. If `ends` is true, the native stream
/// is destroyed, but its work may still run. Its names are then kept for descriptions of this work, until `begin` is called
/// for a new stream with the same handle.
void close(const Stream& stream, bool ends) noexcept;
void begin(const Stream& stream) noexcept;
void set(const Event& event, std::string_view name);
void set(const Allocation& memory, std::string_view name);

/// The name of an object, or empty.
std::string of(const StreamKey& stream);  // the newest name that any object has set for this native stream
std::string of(const Stream& stream);     // only the name that this object has set
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
