// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Access to AddressSanitizer's runtime. The runtime is in the process if the program was built with AddressSanitizer or
/// preloads it, even if Weir was built without it.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* memory, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* memory, std::size_t bytes);
}

namespace weir::host {

inline bool has_address_sanitizer() noexcept { return &__asan_init != nullptr; }
/// Makes every access to this memory an error.
inline void poison(const void* memory, std::size_t bytes) noexcept {
  if (has_address_sanitizer()) __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const void* memory, std::size_t bytes) noexcept {
  if (has_address_sanitizer()) __asan_unpoison_memory_region(memory, bytes);
}

}  // namespace weir::host
