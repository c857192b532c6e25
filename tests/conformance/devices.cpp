// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Tests with two devices of one backend. On the host backend they need WEIR_HOST_DEVICES=2 or more.
namespace conformance::devices_cases {

TEST_SUITE_BEGIN("devices");

/// A stream and a board of each device. If there is only one device, `other` is the same one, and the case is skipped.
struct TwoDevices {
  Device& other = second_device() != nullptr ? *second_device() : device();
  const StreamPtr here = device().create_stream(), there = other.create_stream();
  Board board{device()}, other_board{other};

  static bool is_possible() { return needs_two_devices(); }
  void finish() { check_usable({here, there}); }
};

CASE(TwoDevices, "S1 S13 two devices: streams are made on the device that is asked, and each works on its own") {
  CHECK_FALSE(device() == other);
  CHECK(device().describe() != other.describe());
  for (int i = 0; i < 3; ++i) {
    const StreamPtr mine = device().create_stream(), theirs = other.create_stream();
    CHECK(&mine->device() == &device());
    CHECK(&theirs->device() == &other);
    CHECK_WORKS(*mine);
    CHECK_WORKS(*theirs);
    CHECK_WORKS(*mine);
  }
}

CASE(TwoDevices, "S8 S12 two devices: their default streams differ, although their handles may not") {
  CHECK(*device().default_stream() != *other.default_stream());
  CHECK((*device().default_stream() < *other.default_stream()) != (*other.default_stream() < *device().default_stream()));
  CHECK(&other.default_stream()->device() == &other);
  CHECK_WORKS(*other.default_stream());
  CHECK(*other.wrap_stream(nullptr, Ownership::borrow) == *other.default_stream());
  CHECK(*device().create_stream() != *other.create_stream());
  if (device().supports(Feature::per_thread_default_stream) && other.supports(Feature::per_thread_default_stream)) {
    CHECK(*device().per_thread_stream() != *other.per_thread_stream());
    CHECK_WORKS(*other.per_thread_stream());
  }
}

CASE(TwoDevices, "S8 two devices: one's default stream does not order the other's blocking streams") {
  const StreamPtr legacy = device().default_stream(), blocking = other.create_stream({.blocking = true});
  if (!needs_gate(*legacy)) return;
  Gate gate(*legacy);
  other_board.set(*blocking, 0, 1);
  CHECK(other_board.read(*blocking, 0) == 1);
  CHECK_FALSE(legacy->is_complete());
  gate.open();
  legacy->synchronize();
}

CASE(TwoDevices, "S17 S18 two devices: each has its own current stream, asked for without switching") {
  {
    const weir::StreamScope scope(here);
    CHECK(*weir::current_stream(device()) == *here);
    CHECK(*weir::current_stream(other) == *other.default_stream());
    {
      const weir::StreamScope inner(there);
      CHECK(*weir::current_stream(device()) == *here);
      CHECK(*weir::current_stream(other) == *there);
    }
    CHECK(*weir::current_stream(other) == *other.default_stream());
    CHECK_REFUSED(Errc::wrong_device, weir::StreamScope(other, here));
    CHECK_REFUSED(Errc::wrong_device, weir::StreamScope(device(), there));
    CHECK(*weir::current_stream(device()) == *here);
    CHECK(*weir::current_stream(other) == *other.default_stream());
  }
}

CASE(TwoDevices, "S21 two devices: an event is recorded on its own device's streams alone") {
  const EventPtr event = other.create_event();
  CHECK_REFUSED(Errc::wrong_device, here->record(*event));
  CHECK_FALSE(event->is_recorded());
  CHECK_WORKS(*here);
  there->record(*event);
  event->synchronize();
  CHECK(event->is_complete());
}

CASE(TwoDevices, "S22 two devices: a stream waits for another device's event") {
  if (!needs_gate(*here)) return;
  Gate gate(*here);
  board.put(*here, 0, 1);
  const EventPtr event = here->record();
  there->wait(*event);
  other_board.put(*there, 0, 2);
  settle();
  check_held_until(*there, other_board, 0, 2, [&] { gate.open(); });
  CHECK(board[0] == 1);
  CHECK(event->is_complete());
}

CASE(TwoDevices, "S23 S24 two devices: a stream waits for another device's stream, again and again") {
  if (!needs_gate(*here)) return;
  Gate gate(*here);
  for (std::uint32_t i = 1; i <= 20; ++i) {
    board.put(*here, i, i);
    there->wait(*here);
    other_board.put(*there, i, i);
    here->wait(*there);
  }
  check_held_until(*there, other_board, 1, 1, [&] { gate.open(); });
  CHECK(board.read(*here, 20) == 20);
  CHECK(other_board[20] == 20);
}

CASE(TwoDevices, "S26 two devices: no time elapses between events of two clocks") {
  for (const StreamPtr& s : {here, there}) {
    if (!needs(*s, {Feature::event_timing}, [&] { (void)s->record({.timing = true}); })) return;
  }
  const EventPtr a = here->record({.timing = true});
  const EventPtr b = there->record({.timing = true});
  const EventPtr untimed = there->record();
  here->synchronize();
  there->synchronize();
  CHECK_REFUSED(Errc::wrong_device, b->elapsed_since(*a));
  CHECK_REFUSED(Errc::wrong_device, a->elapsed_since(*b));
  CHECK_REFUSED(Errc::wrong_device, untimed->elapsed_since(*a));
  const EventPtr later = there->record({.timing = true});
  there->synchronize();
  CHECK(later->elapsed_since(*b).count() >= 0.0);
}

CASE(TwoDevices, "S43 two devices: copies between them, by either device's stream, with and without naming the devices") {
  board.set(*here, 0, 5);
  here->copy_peer(other_board.cell(0).data(), other, board.cell(0).data(), device(), 4);
  there->wait(*here);
  other_board.move(*there, 1, 0);
  there->copy_peer(board.cell(1).data(), device(), other_board.cell(1).data(), other, 4);
  here->wait(*there);
  CHECK(board.read(*here, 1) == 5);
  if (!device().properties().unified_addressing || !other.properties().unified_addressing) return;
  if (device().supports(Feature::graph_capture)) {
    here->begin_capture();
    const Refusal refusal = refusal_of(
        [&] { here->copy_peer(other_board.cell(3).data(), other, board.cell(0).data(), device(), 4); });
    const GraphPtr graph = here->end_capture();
    if (refusal.threw) {
      CHECK_MESSAGE(refusal.is(Errc::capture_unsupported), refusal.text);
    } else {
      run(graph, *here);
      there->wait(*here);
      CHECK(other_board.read(*there, 3) == 5);
    }
  }
  here->copy(other_board.cell(2), board.cell(1));
  there->wait(*here);
  CHECK(other_board.read(*there, 2) == 5);
}

CASE(TwoDevices, "S43 two devices: a large peer copy is exact") {
  constexpr std::size_t count = (std::size_t{1} << 20U) + 7;
  Values source(count), back(count);
  for (std::size_t i = 0; i < count; ++i) source[i] = static_cast<std::uint32_t>(i * 2654435761U);
  const auto mine = device().allocate<std::uint32_t>(count);
  const auto theirs = other.allocate<std::uint32_t>(count);
  const auto again = device().allocate<std::uint32_t>(count);
  here->copy(mine, source);
  here->copy_peer(theirs.data(), other, mine.data(), device(), theirs.size_bytes());
  here->copy_peer(again.data(), device(), theirs.data(), other, theirs.size_bytes());
  here->copy(back, again);
  here->synchronize();
  CHECK(back == source);
}

CASE(TwoDevices, "S43 two devices: peer access is switched on and off, and refused where it cannot be") {
  CHECK_FALSE(device().can_access_peer(device()));
  if (device().supports(Feature::peer_access)) {
    CHECK_REFUSED_SAYING(Errc::invalid_argument, "a device always has access to its own memory",
                         device().enable_peer_access(device()));
  }
  if (!device().can_access_peer(other)) {
    CHECK_REFUSED(Errc::unsupported, device().enable_peer_access(other));
    count_refusal();
    return;
  }
  device().enable_peer_access(other);
  device().enable_peer_access(other);
  if (device().supports(Feature::runtime_compilation) && other.supports(Feature::runtime_compilation)) {
    (void)kernels(device());
    other_board.set(*there, 0, 1);
    here->wait(*there);
    here->launch(kernels(device()).add, {}, other_board.cell(0), 4U);
    there->wait(*here);
    CHECK(other_board.read(*there, 0) == 5);
  }
  device().disable_peer_access(other);
  device().disable_peer_access(other);
}

CASE(TwoDevices, "S46 two devices: a wait value is released by the other device's write") {
  const Word32 word(device());
  if (!needs(*here, {Feature::wait_value_32}, [&] { here->wait_value(word.address(), 1U, WaitCondition::eq); })) return;
  if (!needs(*there, {Feature::write_value_32}, [&] { there->write_value(word.address(), 1U); })) return;
  here->wait_value(word.address(), 1U, WaitCondition::eq);
  board.put(*here, 0, 1);
  check_held_until(*here, board, 0, 1, [&] { there->write_value(word.address(), 1U); });
}

CASE(TwoDevices, "S37 S41 two devices: a graph is launched, uploaded, updated and resumed on its own device alone") {
  if (!needs_capture(*here) || !needs_capture(*there)) return;
  const GraphPtr graph = here->capture([&](Stream& c) { board.put(c, 0, 1); });
  const GraphPtr foreign = there->capture([&](Stream& c) { other_board.put(c, 0, 1); });
  const GraphExecPtr exec = graph->instantiate();
  CHECK_REFUSED(Errc::wrong_device, exec->launch(*there));
  if (device().supports(Feature::graph_upload)) CHECK_REFUSED(Errc::wrong_device, exec->upload(*there));
  if (device().supports(Feature::graph_update)) CHECK_REFUSED(Errc::wrong_device, exec->update(*foreign));
  if (other.supports(Feature::capture_into_graph)) CHECK_REFUSED(Errc::wrong_device, there->resume_capture(graph));
  CHECK_WORKS(*there);
  run(exec, *here);
  CHECK(board[0] == 1);
}

// Whether one capture can span both streams' devices; where not, the join is refused, and the capture goes on.
bool needs_cross_device_capture(Stream& here, Stream& there) {
  if (!needs_capture(here)) return false;
  if (device().supports(Feature::cross_device_capture)) return true;
  Board board(device());
  here.begin_capture();
  board.set(here, 0, 1);
  (void)needs(device(), {Feature::cross_device_capture}, [&] { there.wait(here); });
  CHECK_FALSE(there.is_capturing());
  CHECK(here.end_capture()->node_count() == 1);
  CHECK_WORKS(there);
  return false;
}

CASE(TwoDevices, "S36 two devices: one capture spans both") {
  if (!needs_cross_device_capture(*here, *there)) return;
  here->begin_capture();
  board.set(*here, 0, 3);
  there->wait(*here);
  CHECK(there->is_capturing());
  other_board.put(*there, 0, 4);
  here->wait(*there);
  board.show(*here, 0);
  const GraphPtr graph = here->end_capture();
  CHECK_FALSE(there->is_capturing());
  REQUIRE(graph->node_count() == 4);
  check_topology(graph->topology(), {{0, 1}, {2, 3}});
  const GraphExecPtr exec = graph->instantiate();
  for (int i = 0; i < 10; ++i) {
    board.clear();
    other_board.clear();
    run(exec, *here);
    CHECK(board[0] == 3);
    CHECK(other_board[0] == 4);
  }
}

CASE(TwoDevices, "S31 S36 two devices: an unjoined fork on the other device is an error, and both streams are usable") {
  if (!needs_cross_device_capture(*here, *there)) return;
  here->begin_capture();
  there->wait(*here);
  other_board.set(*there, 0, 1);
  CHECK_REFUSED(Errc::capture_unjoined, here->end_capture());
}

CASE(TwoDevices, "S1 S15 S48 two devices: kernels, attributes and pools of another device are refused") {
  if (device().supports(Feature::runtime_compilation)) {
    CHECK_REFUSED(Errc::wrong_device, there->launch(kernels(device()).add, {}, other_board.cell(0), 1U));
  }
  CHECK_REFUSED(Errc::wrong_device, here->copy_attributes(*there));
  if (device().supports(Feature::async_allocation) && other.supports(Feature::memory_pools)) {
    const weir::MemoryPoolPtr pool = other.default_memory_pool();
    CHECK_REFUSED(Errc::wrong_device, here->allocate_async<int>(4, pool));
  }
}

}  // namespace conformance::devices_cases
