// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weir/plugin/operation.hpp"
#include "weir/unique_function.hpp"

/// The names that the program has given. They are kept apart from the objects, each of which has one bit for whether it has
/// a name: so objects without names cost nothing, and one with a name forgets it when it ends.
namespace weir::detail::names {

// An empty name takes the one that is there away.
void set(const Stream& stream, std::string_view name);
/// The object is closed. If the stream `ends` with it, its names stay for the work that is left, until a stream begins whose
/// handle is the same.
void close(const Stream& stream, bool ends) noexcept;
void begin(const Stream& stream) noexcept;
void set(const Event& event, std::string_view name);
void set(const Allocation& memory, std::string_view name);

/// Empty if there is none.
std::string of(const StreamKey& stream);  // the newest
std::string of(const Stream& stream);     // that was set through this object
std::string of(const Event& event);
/// Of the memory that has that byte.
std::string of_memory(const void* address);

/// " 'copies'", for a description, with control characters escaped; nothing for no name.
std::string quoted(const std::string& name);

/// The named host function of that stream which runs now; empty if none does.
std::string running_function(const StreamKey& stream);
/// `function`, which is known by its name while it runs on that stream.
HostFunction named_function(const StreamKey& stream, std::string_view name, HostFunction&& function);

}  // namespace weir::detail::names
