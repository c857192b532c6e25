// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string_view>

#include "weir/access.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/stream_ref.hpp"

/// What host code can tell tools (docs/tools.md). Costs a test of one variable where there are none.
namespace weir {

namespace detail {
WEIR_API void begin_range(std::string_view name);
WEIR_API void end_range() noexcept;
WEIR_API void declare_touches(std::span<const MemoryAccess> accesses);
WEIR_API void note_external_work(StreamRef stream, const char* name, std::span<const MemoryAccess> accesses);
inline bool tools_look() noexcept { return tools_watch.load(std::memory_order_relaxed); }
}  // namespace detail

/// A named part of what the calling thread does, from here to the end of the scope: `weir::ScopedRange step{"solver
/// step"};`. Ranges nest (nvtxRangePush). Tools show them, and each operation within.
class [[nodiscard]] ScopedRange {
 public:
  explicit ScopedRange(std::string_view name) : told_(detail::tools_look()) {
    if (told_) [[unlikely]]
      detail::begin_range(name);
  }
  ~ScopedRange() {
    if (told_) [[unlikely]]
      detail::end_range();
  }
  ScopedRange(const ScopedRange&) = delete;
  ScopedRange& operator=(const ScopedRange&) = delete;

 private:
  bool told_;
};

namespace accesses {

/// The next kernel that the calling thread launches touches this memory and no other:
/// `accesses::touches(accesses::reads(x), accesses::writes(half));`. For kernels whose arguments do not say it: that use a
/// part of a buffer, or follow pointers in memory. A launch that is refused counts.
template <class... Accesses>
void touches(const Accesses&... accesses) {
  if (!detail::tools_look()) [[likely]]
    return;
  const std::array<MemoryAccess, sizeof...(Accesses)> all{accesses...};
  detail::declare_touches(all);
}

}  // namespace accesses

/// Code that tools do not see, such as a vendor's library, enqueues work on `stream` here:
/// `external_work(stream, "gemm", accesses::reads(a), accesses::writes(c));`. Throws what all functions of a stream throw.
template <class... Accesses>
void external_work(StreamRef stream, const char* name, const Accesses&... accesses) {
  if (!detail::tools_look()) [[likely]]
    return;
  const std::array<MemoryAccess, sizeof...(Accesses)> all{accesses...};
  detail::note_external_work(stream, name, all);
}

}  // namespace weir
