// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Finds an instruction's line in a kernel's source.
namespace weir::host {

/// Returns "kernel.cu:12" for the code at `offset` of a shared object, by running addr2line. Empty without addr2line or line
/// information. Throws only std::bad_alloc.
std::string source_line(std::span<const std::byte> image, std::uint64_t offset);

}  // namespace weir::host
