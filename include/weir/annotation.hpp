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

/// Annotations of host code for tools (docs/tools.md): named ranges, and the memory used by work that tools cannot inspect.
/// Without a loaded tool, each costs one load and a branch.
namespace weir {

namespace detail {
WEIR_API void begin_range(std::string_view name);
WEIR_API void end_range() noexcept;
WEIR_API void declare_touches(std::span<const MemoryAccess> accesses);
WEIR_API void note_external_work(StreamRef stream, const char* name, std::span<const MemoryAccess> accesses);
inline bool tools_look() noexcept { return tools_watch.load(std::memory_order_relaxed); }
}  // namespace detail

/// Gives a name to the part of the calling thread's work between the construction and the destruction of this object:
/// `weir::ScopedRange step{"solver step"};`. Tools group operations by these ranges. Ranges nest. (nvtxRangePush,
/// nvtxRangePop)
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

/// Declares that the next kernel launched by the calling thread accesses only this memory:
/// `accesses::touches(accesses::reads(x), accesses::writes(half));`. Use it for kernels whose arguments do not describe
/// their accesses, because they use only a part of a buffer or follow pointers in memory. A launch that throws also consumes
/// the declaration.
template <class... Accesses>
void touches(const Accesses&... accesses) {
  if (!detail::tools_look()) [[likely]]
    return;
  const std::array<MemoryAccess, sizeof...(Accesses)> all{accesses...};
  detail::declare_touches(all);
}

}  // namespace accesses

/// Declares that other code, such as a vendor's library, enqueues work on `stream` at this point, which tools cannot detect:
/// `external_work(stream, "gemm", accesses::reads(a), accesses::writes(c));`. Throws the common errors of stream functions.
template <class... Accesses>
void external_work(StreamRef stream, const char* name, const Accesses&... accesses) {
  if (!detail::tools_look()) [[likely]]
    return;
  const std::array<MemoryAccess, sizeof...(Accesses)> all{accesses...};
  detail::note_external_work(stream, name, all);
}

}  // namespace weir
