// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "capture.hpp"

/// Partitions: streams that use a part of a device.
namespace conformance::partitions_cases {

TEST_SUITE_BEGIN("partitions");

struct Partitions : WithBoard {
  bool is_possible() {
    return needs(*s, {Feature::partitions}, [] { (void)device().partition({.compute_units = 1}); });
  }
};

CASE(Partitions, "S1 S2 partition: its streams do what streams do, in order with the device's others") {
  const PartitionPtr part = device().partition({.compute_units = 1});
  CHECK(part->compute_units() >= 1);
  CHECK(&part->device() == &device());
  CHECK(part->describe().find("partition of " + std::to_string(part->compute_units())) != std::string::npos);
  const StreamPtr inside = part->create_stream({.priority = weir::Priority::high});
  CHECK(&inside->device() == &device());
  CHECK(inside->kind() == StreamKind::owned);
  CHECK(inside->is_non_blocking());
  CHECK_REFUSED(Errc::invalid_argument, part->create_stream({.blocking = true}));
  CHECK_REFUSED(Errc::invalid_argument, inside->release_handle());
  board.set(*s, 0, 3);
  inside->wait(*s);
  board.move(*inside, 1, 0);
  if (device().supports(Feature::host_functions)) inside->launch_host_function([] {});
  if (device().supports(Feature::async_allocation)) {
    const auto memory = inside->allocate_async<std::uint32_t>(1);
    inside->copy(memory, board.cell(1));
    inside->copy(board.cell(2), memory);
  } else {
    board.move(*inside, 2, 1);
  }
  s->wait(inside->record());
  CHECK(board.read(*s, 2) == 3);
  if (device().supports(Feature::runtime_compilation)) {
    inside->launch(kernels().add, {}, board.cell(2), 4U);
    if (device().supports(Feature::graph_capture)) {
      const GraphPtr graph = inside->capture([&](Stream& c) { c.launch(kernels().add, {}, board.cell(2), 5U); });
      s->wait(*inside);
      run(graph, *s);
      inside->wait(*s);
    }
    board.show(*inside, 2);
    device().synchronize();
    CHECK(board[2] == (device().supports(Feature::graph_capture) ? 12 : 7));
  }
}

CASE(Partitions, "S1 partition: the device's synchronize waits for its streams") {
  if (!device().supports(Feature::host_functions) || !needs_host_functions_that_may_wait()) return;
  const StreamPtr inside = device().partition({.compute_units = 1})->create_stream();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    inside->launch_host_function([] { std::this_thread::sleep_for(20ms); });
    board.put(*inside, 0, round);
    device().synchronize();
    CHECK(board[0] == round);
  }
}

CASE(Partitions, "S1 partition: those of a device are disjoint, and their units come back with the last stream") {
  const auto all = static_cast<std::uint32_t>(device().properties().multiprocessor_count);
  CHECK_REFUSED(Errc::invalid_argument, device().partition({}));
  CHECK_REFUSED(Errc::invalid_argument, device().partition({.compute_units = all + 1}));
  for (int round = 0; round < 3; ++round) {
    std::vector<PartitionPtr> parts;
    std::uint32_t taken = 0;
    while (taken < all) {
      const Refusal refusal = refusal_of([&] { parts.push_back(device().partition({.compute_units = 1})); });
      if (refusal.threw) {
        CHECK(refusal.is(Errc::invalid_argument));
        break;
      }
      taken += parts.back()->compute_units();
    }
    CHECK(taken <= all);
    REQUIRE(!parts.empty());
    StreamPtr last = parts.back()->create_stream();
    parts.clear();
    CHECK_WORKS(*last);
    CHECK_REFUSED(Errc::invalid_argument, device().partition({.compute_units = all}));
    last.reset();
    // All units can be had again, including those that do not fill a group of the driver's.
    CHECK(eventually([&] { return !refusal_of([&] { (void)device().partition({.compute_units = all}); }).threw; }));
    CHECK(device().partition({.compute_units = all})->compute_units() == all);
  }
}

CASE(Partitions, "S1 S7 partition: a stream of one is wrapped like any other") {
  const PartitionPtr part = device().partition({.compute_units = 1});
  const StreamPtr inside = part->create_stream();
  const StreamPtr borrowed = device().wrap_stream(inside->share_native_handle(), Ownership::borrow);
  CHECK(*borrowed == *inside);
  CHECK_WORKS(*borrowed);
}

CASE(Partitions, "S1 partition: kernels run on its units, and on no other's") {
  if (!needs_kernels()) return;
  if (std::string(backend().name()) != "cuda") return skip("only CUDA tells a kernel which unit it runs on");
  const auto units_of = device().compile(R"(
extern "C" __global__ void unit(unsigned* units) {
  unsigned u;
  asm volatile("mov.u32 %0, %smid;" : "=r"(u));
  units[blockIdx.x] = u;
  for (int i = 0; i < 20; ++i) __nanosleep(1000);
})")->kernel<void(unsigned*)>("unit");
  constexpr unsigned blocks = 2048;
  const auto units = device().allocate<unsigned>(blocks);
  std::vector<PartitionPtr> parts{device().partition({.compute_units = 16}), device().partition({.compute_units = 16})};
  std::set<unsigned> all;
  for (const PartitionPtr& part : parts) {
    const StreamPtr inside = part->create_stream();
    inside->launch(units_of, {blocks, 32}, units);
    const auto seen = inside->read(units);
    const std::set<unsigned> own(seen.begin(), seen.end());
    CHECK(own.size() <= part->compute_units());
    CHECK(own.size() > 1);
    for (const unsigned unit : own) CHECK(all.insert(unit).second);
  }
}

}  // namespace conformance::partitions_cases
