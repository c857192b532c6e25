// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Integer division as on a GPU, where none ends a program. x86's instructions raise SIGFPE for a divisor of 0, and for the
/// least number divided by -1. No compiler has an option against that, and `/` of two integers cannot be overloaded; but the
/// assembler looks for a macro of an instruction's name before it looks for the instruction.
///
/// The macros compare the divisor first: two branches that are predicted, beside an instruction of ten cycles and more. The
/// least number divided by -1 is itself, remainder 0; what is divided by 0 is all ones, and so is the remainder. Code of
/// compilers never needs the flags across a division, which leaves them undefined.
namespace weir::host {

/// Stands first in every unit. For compilers that write assembly for an assembler to read: see `compiler_flags`.
inline constexpr std::string_view prelude_division = R"weir(
#if defined(__x86_64__) || defined(__i386__)
#define WEIR_DIVISION(suffix, low, high, negated)                                               \
  __asm__(".macro weir_define_idiv" #suffix "\n"                                                \
          ".macro idiv" #suffix " divisor:vararg\n"                                             \
          "cmp" #suffix " $0, \\divisor\n je 8660f\n"                                           \
          "cmp" #suffix " $-1, \\divisor\n je 8661f\n"                                          \
          ".purgem idiv" #suffix "\n idiv" #suffix " \\divisor\n weir_define_idiv" #suffix "\n" \
          "jmp 8662f\n"                                                                         \
          "8660: mov" #suffix " $-1, %" #low "\n mov" #suffix " $-1, %" #high "\n jmp 8662f\n"  \
          "8661: neg %" #negated "\n mov" #suffix " $0, %" #high "\n"                           \
          "8662:\n"                                                                             \
          ".endm\n"                                                                             \
          ".endm\n"                                                                             \
          "weir_define_idiv" #suffix "\n"                                                       \
          ".macro weir_define_div" #suffix "\n"                                                 \
          ".macro div" #suffix " divisor:vararg\n"                                              \
          "cmp" #suffix " $0, \\divisor\n je 8660f\n"                                           \
          ".purgem div" #suffix "\n div" #suffix " \\divisor\n weir_define_div" #suffix "\n"    \
          "jmp 8662f\n"                                                                         \
          "8660: mov" #suffix " $-1, %" #low "\n mov" #suffix " $-1, %" #high "\n"              \
          "8662:\n"                                                                             \
          ".endm\n"                                                                             \
          ".endm\n"                                                                             \
          "weir_define_div" #suffix "\n");
WEIR_DIVISION(b, al, ah, ax)
WEIR_DIVISION(w, ax, dx, ax)
WEIR_DIVISION(l, eax, edx, eax)
#if defined(__x86_64__)
WEIR_DIVISION(q, rax, rdx, rax)
#endif
#undef WEIR_DIVISION
#endif
)weir";

}  // namespace weir::host
