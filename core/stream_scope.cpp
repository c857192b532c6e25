// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_scope.hpp"

#include <utility>
#include <vector>

#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir {
namespace {

// One stack for all devices: scopes nest strictly, and looking one up walks a handful of entries at most.
std::vector<StreamPtr>& stack() {
  thread_local std::vector<StreamPtr> streams;
  return streams;
}

StreamPtr checked(StreamPtr stream) {
  if (!stream) throw Error(Errc::invalid_argument, "StreamScope", "", "the stream is null");
  if (stream->is_closed()) {
    throw Error(Errc::stream_closed, "StreamScope", stream->describe(), "the stream was closed; create or wrap another");
  }
  return stream;
}

}  // namespace

StreamScope::StreamScope(StreamPtr stream) : StreamScope(checked(stream)->device(), stream) {}

StreamScope::StreamScope(const Device& device, StreamPtr stream) {
  if (&checked(stream)->device() != &device) {
    throw Error(Errc::wrong_device, "StreamScope", stream->describe(),
                "the stream cannot be current on " + device.describe() + "; the current stream is unchanged");
  }
  stack().push_back(std::move(stream));
}

StreamScope::~StreamScope() { stack().pop_back(); }

StreamPtr current_stream(Device& device) {
  const auto& streams = stack();
  for (auto it = streams.rbegin(); it != streams.rend(); ++it) {
    if (&(*it)->device() == &device) return *it;
  }
  return device.default_stream();
}

}  // namespace weir
