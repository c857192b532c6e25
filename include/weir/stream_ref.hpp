// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <typeindex>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ref.hpp"

/// A non-owning reference to a stream.
namespace weir {

/// A non-owning reference to a stream, for functions that enqueue work; like `cuda::stream_ref` and `rmm::cuda_stream_view`.
/// As cheap as a pointer. Valid while the stream lives.
///
///     void blur(weir::StreamRef stream, weir::Span<float> image);
///     blur(stream, image);                             // a StreamPtr or a Stream&
///     blur(weir::cuda::wrap(device, handle), image);   // a cudaStream_t
///
/// Compares and hashes the native stream, not the object: all wrappers of one stream are the same key. Null equals only null
/// and comes first. Do not close a stream that is a key.
class StreamRef : public Ref<Stream> {
 public:
  /// Made from a `Stream&`, a `StreamPtr` or `nullptr`.
  using Ref::Ref;

  WEIR_API friend bool operator==(StreamRef a, StreamRef b) noexcept;
  WEIR_API friend std::strong_ordering operator<=>(StreamRef a, StreamRef b) noexcept;
};

}  // namespace weir

template <>
struct std::hash<weir::StreamRef> {
  WEIR_API std::size_t operator()(weir::StreamRef stream) const noexcept;
};
