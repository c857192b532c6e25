// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <typeindex>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ref.hpp"

/// `StreamRef`: a non-owning reference to a stream, for function parameters.
namespace weir {

/// A non-owning reference to a stream, for parameters of functions that enqueue work, like `cuda::stream_ref` and
/// `rmm::cuda_stream_view`. As cheap as a pointer. Valid while the stream lives.
///
///     void blur(weir::StreamRef stream, weir::Span<float> image);
///     blur(stream, image);                             // a StreamPtr or a Stream&
///     blur(weir::cuda::wrap(device, handle), image);   // a cudaStream_t
///
/// Compares and hashes by the native stream: references to different `Stream` objects that wrap one native stream are equal.
/// Null equals only null, and is less than all others. Do not close a stream that is a key of a container.
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
