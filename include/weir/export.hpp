// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__cplusplus) && __cplusplus < 202002L
#error "Weir needs C++20: compile with -std=c++20, or with a later standard"
#include "weir/needs_cpp20"  // This file does not exist. It stops the compiler before hundreds of errors hide the one above.
#endif

/// Marks what a Weir binary exports; everything else is hidden. Exceptions and classes with virtual functions need it too,
/// so that all binaries share their type information.
#define WEIR_API __attribute__((visibility("default")))

/// Marks a parameter that the result refers to: Clang warns if the argument is a temporary and the result outlives it.
#if defined(__clang__)
#define WEIR_LIFETIME_BOUND [[clang::lifetimebound]]
#else
#define WEIR_LIFETIME_BOUND
#endif

/// Marks a function that each binary compiles with its own options. A linker must not merge it with another binary's copy.
#define WEIR_IN_CALLER __attribute__((always_inline, visibility("hidden"))) inline
