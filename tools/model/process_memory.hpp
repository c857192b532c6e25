// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the system says of addresses of this process.
namespace weir::model {

/// Whether the processor can read the byte there.
bool is_readable(const void* address) noexcept;
/// Whether the byte is surely the program's own memory: of its heap, of a stack, or of a file that is mapped. False for what
/// a driver may have made.
bool is_own_memory(const void* address);

}  // namespace weir::model
