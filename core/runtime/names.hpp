// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/plugin/operation.hpp"
#include "weir/unique_function.hpp"

/// The names that the program has given. They are stored outside the objects, which have only one bit for whether they have
/// a name. So objects without names cost nothing, and destroying a named object removes its name.
namespace weir::detail::names {

// An empty name removes the present one.
void set(const Stream& stream, std::string_view name);
/// Called when the object is closed. If the stream `ends` with it, its names stay for the remaining work, until a stream
/// with the same handle is created.
void close(const Stream& stream, bool ends) noexcept;
void begin(const Stream& stream) noexcept;
void set(const Event& event, std::string_view name);
void set(const Allocation& memory, std::string_view name);

/// Empty if the stream has no name.
std::string of(const StreamKey& stream);  // the newest
std::string of(const Stream& stream);     // only a name set through this object
std::string of(const Event& event);
/// The name of the memory that contains this byte.
std::string of_memory(const void* address);

/// " 'copies'", for a description, with control characters escaped; "" without a name.
std::string quoted(const std::string& name);

/// The name of the host function that runs on that stream now; "" if there is none.
std::string running_function(const StreamKey& stream);
/// Wraps `function`, so that its name is known while it runs on that stream.
HostFunction named_function(const StreamKey& stream, std::string_view name, HostFunction&& function);

}  // namespace weir::detail::names
