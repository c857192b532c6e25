// SPDX-License-Identifier: Apache-2.0

// A kernel that writes to null is an error of the stream's next call, also on a stream that external code knows. A process
// of its own, since the fault ends the device's use for the whole process. The backend's name is the argument.

#include <cstdio>
#include <string>

#include "weir/weir.hpp"

namespace {

constexpr const char* source = R"(
extern "C" __global__ void write(unsigned* address) { *address = 1; }
)";

bool faults(const char* what, weir::Stream& stream, void (*call)(weir::Stream&)) {
  try {
    call(stream);
    std::printf("%s: no error\n", what);
  } catch (const weir::Error& error) {
    std::printf("%s: %s\n", what, error.what());
    return error.errc() == weir::Errc::device_fault;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string backend = argc > 1 ? argv[1] : "cuda";
  const weir::BackendInfo& info = weir::Registry::instance().probe(backend);
  if (info.state != weir::BackendState::usable) {
    std::fprintf(stderr, "skipped: %s\n", info.reason.c_str());
    return 77;
  }
  weir::Device& device = weir::device(backend + ":0");
  if (!device.supports(weir::Feature::runtime_compilation)) {
    std::fprintf(stderr, "skipped: %s\n", device.feature(weir::Feature::runtime_compilation).reason.c_str());
    return 77;
  }
  const weir::StreamPtr stream = device.create_stream();
  (void)stream->native_handle();
  stream->launch(device.compile(source)->kernel("write"), weir::LaunchConfig{}, static_cast<unsigned*>(nullptr));
  bool all = faults("synchronize", *stream, [](weir::Stream& s) { s.synchronize(); });
  all &= faults("is_complete", *stream, [](weir::Stream& s) { (void)s.is_complete(); });
  all &= faults("record", *stream, [](weir::Stream& s) { (void)s.record(); });
  std::printf("%s\n", stream->describe().c_str());
  return all ? 0 : 1;
}
