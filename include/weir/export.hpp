// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a Weir binary exports; everything else is hidden. Exceptions and classes with virtual functions need it too,
/// so that all binaries share their type information.
#define WEIR_API __attribute__((visibility("default")))

/// Marks a function of which each caller has its own copy, compiled with the caller's options. A linker must not merge it
/// with another binary's copy.
#define WEIR_IN_CALLER __attribute__((always_inline, visibility("hidden"))) inline
