// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::test {

/// What stands before a source of kernels to run it in the slow and obvious way: a fiber for each thread of a block, which
/// yields where it waits. The source is compiled as it is. `weir_run_fibers` runs a launch.
inline constexpr const char* fuzz_reference = R"weir(
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

struct index3 { unsigned x, y, z; };
static index3 threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__ static
#define __shared__ static
extern "C" { __attribute__((visibility("default"))) unsigned long long weir_steps; }
#define COUNT_STEP ++weir_steps
enum { most = 128, stack_size = 64 * 1024 };

enum state_type { ready, in_block, in_warp, done };
struct fiber {
  ucontext_t context;
  char stack[stack_size];
  state_type state;
  unsigned mask;            // of a warp's function
  unsigned value;           // what it hands in
  unsigned seen[32];        // what the lanes of its warp handed in
  unsigned lanes;           // who did
  unsigned block_count, block_here;
};
static fiber fibers[most];
static ucontext_t scheduler;
static unsigned current;
typedef void kernel_type(unsigned*, unsigned, unsigned*, const unsigned*, const unsigned*);
static kernel_type* kernel_to_run;
static unsigned *kernel_out, *kernel_x;
static const unsigned *kernel_y, *kernel_z;
static unsigned kernel_n;

static void wait_in(state_type state) {
  const unsigned me = current;
  fibers[me].state = state;
  swapcontext(&fibers[me].context, &scheduler);
}
static void run_thread() {
  kernel_to_run(kernel_out, kernel_n, kernel_x, kernel_y, kernel_z);
  fibers[current].state = done;
  swapcontext(&fibers[current].context, &scheduler);
}

static void __syncthreads() { fibers[current].value = 0; wait_in(in_block); }
static int __syncthreads_count(int p) {
  const unsigned me = current;
  fibers[me].value = p != 0;
  wait_in(in_block);
  return fibers[me].block_count;
}
static int __syncthreads_or(int p) { return __syncthreads_count(p) != 0; }
static fiber& exchange(unsigned mask, unsigned v) {
  const unsigned me = current;
  fibers[me].value = v;
  fibers[me].mask = mask;
  wait_in(in_warp);
  return fibers[me];
}
static unsigned from_lane(fiber& f, unsigned lane) { return f.lanes >> lane & 1 ? f.seen[lane] : 0; }
static unsigned __shfl_sync(unsigned m, unsigned v, unsigned l) { return from_lane(exchange(m, v), l & 31); }
static unsigned __shfl_down_sync(unsigned m, unsigned v, unsigned d) {
  const unsigned lane = threadIdx.x % 32;
  fiber& f = exchange(m, v);
  return lane + d < 32 ? from_lane(f, lane + d) : v;
}
static unsigned __shfl_up_sync(unsigned m, unsigned v, unsigned d, unsigned width) {
  const unsigned lane = threadIdx.x % 32;
  fiber& f = exchange(m, v);
  return lane % width >= d ? from_lane(f, lane - d) : v;
}
static unsigned __shfl_xor_sync(unsigned m, unsigned v, unsigned x) {
  const unsigned lane = threadIdx.x % 32;
  return from_lane(exchange(m, v), (lane ^ x) & 31);
}
static unsigned __ballot_sync(unsigned m, int p) {
  fiber& f = exchange(m, p != 0);
  unsigned bits = 0;
  for (unsigned l = 0; l < 32; ++l) bits |= (f.lanes >> l & 1 ? f.seen[l] : 0) << l;
  return bits;
}
static void __syncwarp(unsigned m) { exchange(m, 0); }
static int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
static unsigned __reduce_add_sync(unsigned m, unsigned v) {
  fiber& f = exchange(m, v);
  unsigned sum = 0;
  for (unsigned l = 0; l < 32; ++l) sum += f.lanes >> l & 1 ? f.seen[l] : 0;
  return sum;
}
static void atomicAdd(unsigned* p, unsigned v) { *p += v; }
static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }

// Lets those go on whom nobody keeps waiting any more. False if there are none, though some wait.
static bool release(unsigned threads) {
  unsigned alive = 0, at_barrier = 0, yes = 0;
  for (unsigned t = 0; t < threads; ++t) {
    alive += fibers[t].state != done;
    at_barrier += fibers[t].state == in_block;
    yes += fibers[t].state == in_block ? fibers[t].value : 0;
  }
  if (at_barrier == alive) {
    for (unsigned t = 0; t < threads; ++t) {
      if (fibers[t].state != in_block) continue;
      fibers[t].block_count = yes;
      fibers[t].state = ready;
    }
    return true;
  }
  bool released = false;
  for (unsigned t = 0; t < threads; ++t) {
    if (fibers[t].state != in_warp) continue;
    const unsigned first = t / 32 * 32, mask = fibers[t].mask;
    bool all = true;
    for (unsigned l = 0; l < 32 && first + l < threads; ++l) {
      const fiber& f = fibers[first + l];
      if ((mask >> l & 1) && f.state != done && (f.state != in_warp || f.mask != mask)) all = false;
    }
    if (!all) continue;
    unsigned lanes = 0, values[32] = {};
    for (unsigned l = 0; l < 32 && first + l < threads; ++l) {
      if (!(mask >> l & 1) || fibers[first + l].state != in_warp) continue;
      lanes |= 1u << l;
      values[l] = fibers[first + l].value;
    }
    for (unsigned l = 0; l < 32; ++l) {
      if (!(lanes >> l & 1)) continue;
      fiber& f = fibers[first + l];
      for (unsigned k = 0; k < 32; ++k) f.seen[k] = values[k];
      f.lanes = lanes;
      f.state = ready;
    }
    released = true;
  }
  return released;
}

extern "C" __attribute__((visibility("default"))) int weir_run_fibers(kernel_type* kernel, index3 grid, index3 block,
                                                                      unsigned* out, unsigned n, unsigned* x,
                                                                      const unsigned* y, const unsigned* z) {
  kernel_to_run = kernel;
  kernel_out = out;
  kernel_n = n;
  kernel_x = x; kernel_y = y; kernel_z = z;
  gridDim = grid;
  blockDim = block;
  const unsigned threads = block.x * block.y;
  for (unsigned b = 0; b < grid.x * grid.y; ++b) {
    blockIdx.x = b % grid.x;
    blockIdx.y = b / grid.x;
    for (unsigned t = 0; t < threads; ++t) {
      fiber& f = fibers[t];
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack;
      f.context.uc_stack.ss_size = stack_size;
      makecontext(&f.context, run_thread, 0);
      f.state = ready;
    }
    for (;;) {
      bool ran = false, waiting = false;
      for (unsigned t = 0; t < threads; ++t) {
        if (fibers[t].state == ready) {
          current = t;
          threadIdx.x = t % block.x;
          threadIdx.y = t / block.x;
          swapcontext(&scheduler, &fibers[t].context);
          ran = true;
        }
        waiting = waiting || (fibers[t].state != done);
      }
      if (!waiting) break;
      if (!release(threads) && !ran) return 1;
    }
  }
  return 0;
}
)weir";

}  // namespace weir::test
