// SPDX-License-Identifier: Apache-2.0
//
// openvdb #2287: https://github.com/AcademySoftwareFoundation/openvdb/pull/2287
//
// Wrong: A buffer records its last use in one event, so that it is freed after that. A second use, on another
// stream, records the event again, which replaces the first use: the memory may be freed while the first stream
// still reads it.
// Cost: Not reported: it was found in a review.
// Here: `a` and `b` read the buffer, `b` last. Its memory goes back to `home`, which fills it anew while `a` still reads.
// Race: Stream::copy reads, then the free writes
// Shake: 2 of 20 seeds, pct 10; without it 0 of 20 runs
#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 16;

class GridBuffer {
 public:
  explicit GridBuffer(weir::Stream& home)
      : home_(home), data_(home.allocate_async<int>(n)), last_use_(home.device().create_event()) {}

  weir::Span<int> data() const { return data_; }

  void record_use(weir::Stream& stream, bool fixed) {
    if (fixed) stream.wait(last_use_);  // so that the event also covers the earlier uses
    stream.record(last_use_);
  }

  void clear() {
    home_.wait(last_use_);
    data_.reset();  // freed on `home`
  }

 private:
  weir::Stream& home_;
  weir::Buffer<int> data_;
  weir::EventPtr last_use_;
};

void run(weir::Device& device, bool fixed) {
  const auto home = device.create_stream(), a = device.create_stream(), b = device.create_stream();
  const auto seen_by_a = device.allocate<int>(n), seen_by_b = device.allocate<int>(n);

  GridBuffer grid(*home);
  home->fill(grid.data(), 1);
  a->wait(*home);
  a->copy(seen_by_a, grid.data());
  grid.record_use(*a, fixed);
  b->wait(*home);
  b->copy(seen_by_b, grid.data());
  grid.record_use(*b, fixed);
  grid.clear();
  const auto next = home->allocate_async<int>(n);  // may return the same memory
  home->fill(next, 2);

  museum::expect(b->read(seen_by_b), 1, "seen_by_b");
  museum::expect(a->read(seen_by_a), 1, "seen_by_a");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
