// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>

#include <cstddef>
#include <cstdint>

namespace weir::workgroup {

/// Changes the number that is so many bytes behind the beginning of the record (`host::KernelRecord`) of a function that
/// runs a kernel.
void change_record(llvm::Function& run, std::size_t offset, llvm::function_ref<std::uint64_t(std::uint64_t)> change);

}  // namespace weir::workgroup
