// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/fiber_switch.hpp"

#include <cstdint>
#include <cstring>

#include "backends/host/run/address_sanitizer.hpp"

// weir_switch_stack(void** save, void* to) pushes the registers that a call must preserve, stores the stack pointer in
// *save, sets the stack pointer to `to`, and pops the registers saved there.
#if defined(__x86_64__)
asm(R"(
.pushsection .text
.hidden weir_switch_stack
.globl weir_switch_stack
.type weir_switch_stack, @function
weir_switch_stack:
  .cfi_startproc
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size weir_switch_stack, . - weir_switch_stack
.popsection
)");
namespace {
constexpr std::size_t saved_words = 8, entry_word = 6;  // six registers, the return address, and a terminator for unwinders
}
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.hidden weir_switch_stack
.globl weir_switch_stack
.type weir_switch_stack, %function
weir_switch_stack:
  .cfi_startproc
  sub sp, sp, #160
  stp d8, d9, [sp]
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  stp x19, x20, [sp, #64]
  stp x21, x22, [sp, #80]
  stp x23, x24, [sp, #96]
  stp x25, x26, [sp, #112]
  stp x27, x28, [sp, #128]
  stp x29, x30, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp d8, d9, [sp]
  ldp d10, d11, [sp, #16]
  ldp d12, d13, [sp, #32]
  ldp d14, d15, [sp, #48]
  ldp x19, x20, [sp, #64]
  ldp x21, x22, [sp, #80]
  ldp x23, x24, [sp, #96]
  ldp x25, x26, [sp, #112]
  ldp x27, x28, [sp, #128]
  ldp x29, x30, [sp, #144]
  add sp, sp, #160
  ret
  .cfi_endproc
.size weir_switch_stack, . - weir_switch_stack
.popsection
)");
namespace {
constexpr std::size_t saved_words = 20, entry_word = 19;  // d8 to d15, x19 to x30; x30 is the return address
}
#else
#error "write weir_switch_stack for this processor, as the two above"
#endif

namespace weir::host {
void prepare_fiber(FiberContext& context, void* bottom, void* top, void (*entry)()) {
  retire_fiber(context);
  auto** const words = static_cast<void**>(top) - saved_words;
  std::memset(words, 0, saved_words * sizeof(void*));
  words[entry_word] = reinterpret_cast<void*>(entry);
  context.pointer = words;
  context.bottom = bottom;
  context.size = static_cast<std::size_t>(static_cast<std::byte*>(top) - static_cast<std::byte*>(bottom));
#ifdef WEIR_FIBERS_TSAN
  context.sanitizer = __tsan_create_fiber(0);
#endif
}

void retire_fiber(FiberContext& context) noexcept {
  // Clears AddressSanitizer's marks on the frames of the stack's last fiber, which never returned from them.
  if (context.bottom != nullptr) unpoison(context.bottom, context.size);
#ifdef WEIR_FIBERS_TSAN
  if (context.sanitizer != nullptr) __tsan_destroy_fiber(context.sanitizer);
  context.sanitizer = nullptr;
#endif
}

void adopt_thread([[maybe_unused]] FiberContext& context) noexcept {
#ifdef WEIR_FIBERS_TSAN
  context.sanitizer = __tsan_get_current_fiber();
#endif
}

}  // namespace weir::host
