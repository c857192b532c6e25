// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a Weir binary exports; everything else is built hidden. Types that cross plugin boundaries (exceptions,
/// classes with virtual functions) carry it too, so that their type information is one and the same everywhere.
#define WEIR_API __attribute__((visibility("default")))

/// Marks a function that each caller must have a copy of, compiled as the caller is: a linker that merges it with another
/// binary's copy would make it speak for that binary.
#define WEIR_IN_CALLER __attribute__((always_inline, visibility("hidden"))) inline
