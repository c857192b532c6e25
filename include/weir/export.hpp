// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a Weir binary exports; everything else is built hidden. Types that cross plugin boundaries (exceptions,
/// classes with virtual functions) carry it too, so that their type information is one and the same everywhere.
#define WEIR_API __attribute__((visibility("default")))
