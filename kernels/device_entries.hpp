// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Declares the entries: functions that return a thread's indices, let threads wait for each other, or exchange values
/// between threads. The device library, and all other code that depends on the thread, uses only these. The entries have two
/// implementations. For kernels whose threads are fibers, the prelude defines them (kernels/fiber_threads.hpp). For other
/// kernels, the work-group pass finds the calls by name and replaces them; in kernels that the pass refuses, it calls the
/// fibers' functions instead.
///
/// Lanes are numbered from 0; bit i of a mask stands for lane i. A mask of 0 means the lanes that make the call together, as
/// with `__activemask`, with `__shfl` without a mask, and with HIP's functions. With any other mask, every lane in the mask
/// that has not ended must make the call, and the calling lane must be in the mask.
///
/// In LLVM's IR a kernel has the annotation "weir.kernel", and a shared variable has "weir.shared". `extern __shared__ T
/// x[]` becomes an external variable of size 0 without an annotation.
namespace weir::kernels {

/// `WEIR_ENTRY`, a storage class and attributes, precedes each entry. `WEIR_PURE` marks entries whose result never changes
/// for a thread.
inline constexpr std::string_view device_entries = R"weir(
extern "C" {
// threadIdx, blockIdx, blockDim, gridDim; axis: 0 is x, 1 is y, 2 is z.
WEIR_ENTRY WEIR_PURE unsigned int __weir_tid(int axis) noexcept;
WEIR_ENTRY WEIR_PURE unsigned int __weir_ctaid(int axis) noexcept;
WEIR_ENTRY WEIR_PURE unsigned int __weir_ntid(int axis) noexcept;
WEIR_ENTRY WEIR_PURE unsigned int __weir_nctaid(int axis) noexcept;
// The thread's number in its block, x fastest, modulo the size of a warp.
WEIR_ENTRY WEIR_PURE int __weir_lane() noexcept;

// Which memory an address is in. `__constant__` variables are in neither.
WEIR_ENTRY WEIR_PURE bool __weir_is_shared(const void* p) noexcept;
WEIR_ENTRY WEIR_PURE bool __weir_is_local(const void* p) noexcept;
// The begin of the block's shared memory.
WEIR_ENTRY WEIR_PURE char* __weir_shared() noexcept;

// Waits for all threads of the block that have not ended. The second also returns how many of them pass a predicate that is
// not 0.
WEIR_ENTRY WEIR_CONVERGENT void __weir_barrier() noexcept;
WEIR_ENTRY WEIR_CONVERGENT int __weir_barrier_count(int predicate) noexcept;
// Waits for all threads of a cooperative launch.
WEIR_ENTRY WEIR_CONVERGENT void __weir_grid_barrier() noexcept;

// Lets other threads run. Called where the program polls memory until another thread writes it.
WEIR_ENTRY WEIR_CONVERGENT void __weir_turn() noexcept;

// Returns the lanes that make this call together.
WEIR_ENTRY WEIR_CONVERGENT unsigned long long __weir_active() noexcept;
WEIR_ENTRY WEIR_CONVERGENT void __weir_warp_barrier(unsigned long long mask) noexcept;
// Returns the calling lanes whose predicate is not 0.
WEIR_ENTRY WEIR_CONVERGENT unsigned long long __weir_ballot(unsigned long long mask, int predicate) noexcept;
// Returns the value of lane `source_lane`: 0 if that lane does not make the call, and the calling lane's own value if the
// number is outside of the warp.
WEIR_ENTRY WEIR_CONVERGENT unsigned int __weir_shuffle32(unsigned long long mask, unsigned int value,
                                                         int source_lane) noexcept;
WEIR_ENTRY WEIR_CONVERGENT unsigned long long __weir_shuffle64(unsigned long long mask, unsigned long long value,
                                                               int source_lane) noexcept;
}
)weir";

}  // namespace weir::kernels
