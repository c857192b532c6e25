// SPDX-License-Identifier: Apache-2.0
//
// nvMolKit #55: https://github.com/NVIDIA-BioNeMo/nvMolKit/pull/55
//
// Wrong: Device memory is allocated in the order of the default stream, and used on another stream, which does not
// wait: it may use the memory before the allocation, while earlier work of the default stream still writes there.
// Cost: Very rare; it may explain errors that users had reported.
// Here: The default stream frees a block after a fill, and gets the same block again. The other stream writes to it
// before that fill.
// Race: Stream::allocate_async writes, then Stream::fill writes
// Shake: 10 of 20 seeds, pct 9; without it 0 of 20 runs
#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 16;

void run(weir::Device& device, bool fixed) {
  const auto standard = device.default_stream(), stream = device.create_stream();
  auto old = standard->allocate_async<int>(n);
  standard->fill(old, 1);
  old.reset();

  const auto pointers = (fixed ? stream : standard)->allocate_async<int>(n);  // may return the same memory
  stream->fill(pointers, 2);
  device.synchronize();
  museum::expect(stream->read(pointers), 2, "pointers");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
