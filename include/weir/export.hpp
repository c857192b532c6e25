// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__cplusplus) && __cplusplus < 202002L
#error "Weir needs C++20: compile with -std=c++20, or with a later standard"
#include "weir/needs_cpp20"  // This file does not exist, so the compiler stops here. Otherwise hundreds of other errors
                             // would hide the one above.
#endif

/// Marks the functions and classes that Weir's libraries export; all others are hidden. Exceptions and classes with virtual
/// functions must be exported too, so that all binaries share their type information: otherwise `catch` and `dynamic_cast`
/// can fail across libraries.
#define WEIR_API __attribute__((visibility("default")))

/// Marks a parameter that the result refers to: Clang warns if the argument is a temporary and the result outlives it.
#if defined(__clang__)
#define WEIR_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define WEIR_LIFETIME_BOUND
#endif

/// Marks a function that must be compiled into the binary that calls it, with that binary's options. Hidden, so that the
/// loader does not replace it by another binary's copy.
#define WEIR_IN_CALLER __attribute__((always_inline, visibility("hidden"))) inline
