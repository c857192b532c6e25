// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Function.h>

#include <cstddef>
#include <cstdint>

namespace weir::workgroup {

/// Changes a number in the record (`host::KernelRecord`) of the kernel that `run` runs. `offset`: the number's offset in
/// bytes. `change` returns the new value for the old one.
void change_record(llvm::Function& run, std::size_t offset, llvm::function_ref<std::uint64_t(std::uint64_t)> change);

}  // namespace weir::workgroup
