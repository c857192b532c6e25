// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Makes integer division behave as on a GPU, where it never ends a program. x86's division instructions raise SIGFPE for a
/// divisor of 0, and for the lowest integer divided by -1. No compiler has an option against that, and C++ cannot overload
/// `/` for two integers. But an assembler macro can have the name of an instruction, and then replaces it.
///
/// The macros compare the divisor first. This adds two predicted branches to an instruction of ten cycles or more. The
/// lowest integer divided by -1 yields itself with remainder 0; a division by 0 yields a quotient and a remainder with all
/// bits set. The flags may differ from the instruction's, because the instruction leaves them undefined and compilers never
/// use them.
namespace weir::host {

/// Assembly to be put before a module's assembly, for compilers that write assembly (see `compiler_flags`). It is not part
/// of the source, because Clang drops `asm` outside of functions in device code.
#define WEIR_DIVISION(suffix, low, high, negated)                                                                          \
  ".macro weir_define_idiv" suffix "\n.macro idiv" suffix " divisor:vararg\ncmp" suffix                                    \
  " $0, \\divisor\n je 8660f\n"                                                                                            \
  "cmp" suffix " $-1, \\divisor\n je 8661f\n.purgem idiv" suffix "\n idiv" suffix " \\divisor\n weir_define_idiv" suffix   \
  "\njmp 8662f\n8660: mov" suffix " $-1, %" low "\n mov" suffix " $-1, %" high "\n jmp 8662f\n8661: neg %" negated         \
  "\n mov" suffix " $0, %" high "\n8662:\n.endm\n.endm\nweir_define_idiv" suffix                                           \
  "\n"                                                                                                                     \
  ".macro weir_define_div" suffix "\n.macro div" suffix " divisor:vararg\ncmp" suffix                                      \
  " $0, \\divisor\n je 8660f\n"                                                                                            \
  ".purgem div" suffix "\n div" suffix " \\divisor\n weir_define_div" suffix "\njmp 8662f\n8660: mov" suffix " $-1, %" low \
  "\n mov" suffix " $-1, %" high "\n8662:\n.endm\n.endm\nweir_define_div" suffix "\n"
#if defined(__x86_64__) || defined(__i386__)
inline constexpr std::string_view division =
    WEIR_DIVISION("b", "al", "ah", "ax") WEIR_DIVISION("w", "ax", "dx", "ax") WEIR_DIVISION("l", "eax", "edx", "eax")
#ifdef __x86_64__
        WEIR_DIVISION("q", "rax", "rdx", "rax")
#endif
    ;
#else
inline constexpr std::string_view division = "";
#endif
#undef WEIR_DIVISION

}  // namespace weir::host
