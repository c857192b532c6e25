// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Which line of a kernel's source an instruction is made of.
namespace weir::host {

/// "kernel.cu:12" for the code at `offset` of a shared object. Runs addr2line. Empty where there is none, or the object does
/// not tell. Throws nothing but std::bad_alloc.
std::string source_line(std::span<const std::byte> image, std::uint64_t offset);

}  // namespace weir::host
