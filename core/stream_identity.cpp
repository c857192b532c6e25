// SPDX-License-Identifier: Apache-2.0
#include "weir/stream.hpp"

// `StreamPtr` as a key.
namespace weir {

bool operator==(const StreamPtr& a, const StreamPtr& b) noexcept {
  return a.get() == b.get() || (a != nullptr && b != nullptr && *a == *b);
}

std::strong_ordering operator<=>(const StreamPtr& a, const StreamPtr& b) noexcept {
  if (a == nullptr || b == nullptr) return (a != nullptr) <=> (b != nullptr);
  return *a <=> *b;
}

}  // namespace weir

std::size_t std::hash<weir::StreamPtr>::operator()(const weir::StreamPtr& stream) const noexcept {
  return stream != nullptr ? stream->hash() : 0;
}
