// SPDX-License-Identifier: Apache-2.0
//
// DeepSpeed #7805: https://github.com/deepspeedai/DeepSpeed/pull/7805
//
// Wrong: Two buffers alternate: gradients are written to one while another stream reduces those in the other. A
// change reset the buffer's index after each bucket, so each bucket was written where the last one was being
// reduced.
// Cost: grad_norm was NaN or did not change (#7188). The first fix waited for each reduction, which removed the
// overlap.
// Here: Four buckets. The waits are right: a buffer's reduction is over when its turn comes again.
// Race: Stream::copy reads, then Stream::fill writes
// Shake: 20 of 20 seeds, pct 15; without it 20 of 20 runs
#include <array>

#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr compute = device.create_stream(), reduce = device.create_stream();
  const std::array buffers{device.allocate<int>(n), device.allocate<int>(n)};
  const auto reduced = device.allocate<int>(4 * n);

  unsigned index = 0;
  for (unsigned bucket = 0; bucket < 4; ++bucket) {
    compute->fill(buffers[index], static_cast<int>(bucket));  // computes the gradients
    compute->wait(*reduce);                                   // for the previous bucket, whose buffer is next
    reduce->wait(*compute);
    reduce->copy(reduced.subspan(bucket * n, n), buffers[index]);
    index = 1 - index;
    if (!fixed) index = 0;  // as in bucket.clear()
  }
  const auto result = reduce->read(reduced);
  for (unsigned bucket = 0; bucket < 4; ++bucket) {
    museum::expect(std::span(result).subspan(bucket * n, n), static_cast<int>(bucket), "bucket");
  }
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
