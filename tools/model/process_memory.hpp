// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Queries the operating system about addresses of this process.
namespace weir::model {

/// Whether the processor can read the byte at the address.
bool is_readable(const void* address) noexcept;
/// Whether the byte at the address is certainly the program's own memory: in its heap, a stack or a mapped file. False for
/// memory that a driver may have mapped.
bool is_own_memory(const void* address);

}  // namespace weir::model
