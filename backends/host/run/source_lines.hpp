// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Finds the source line of an instruction of a kernel.
namespace weir::host {

/// Returns the source line of the code at `offset` of a shared object, such as "kernel.cu:12", by running addr2line. Empty
/// if there is no addr2line or no line information. Throws only std::bad_alloc.
std::string source_line(std::span<const std::byte> image, std::uint64_t offset);

}  // namespace weir::host
