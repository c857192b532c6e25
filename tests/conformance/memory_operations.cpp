// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Values that streams write and wait for: all comparisons, widths and ways to end a wait, and batches.
namespace conformance::memory_operations_cases {

TEST_SUITE_BEGIN("memory operations");

template <class T>
constexpr Feature write_feature = sizeof(T) == 4 ? Feature::write_value_32 : Feature::write_value_64;
template <class T>
constexpr Feature wait_feature = sizeof(T) == 4 ? Feature::wait_value_32 : Feature::wait_value_64;

bool needs_write_32(Stream& s) {
  const Word32 word;
  return needs(s, {Feature::write_value_32}, [&] { s.write_value(word.address(), 1U); });
}

template <class T>
bool needs_wait(Stream& s, WaitCondition condition) {
  const Word<T> word;
  const auto use = [&] { s.wait_value(word.address(), T{0}, condition); };
  if (condition == WaitCondition::geq) return needs(s, {wait_feature<T>, Feature::wait_value_geq}, use);
  if (condition == WaitCondition::bit_nor) return needs(s, {wait_feature<T>, Feature::wait_value_nor}, use);
  return needs(s, {wait_feature<T>}, use);
}

// A wait that is over at once: the stream goes on by itself.
template <class T>
void check_passes(WaitCondition condition, T in_memory, T waited_for) {
  const StreamPtr s = device().create_stream();
  if (!needs_wait<T>(*s, condition)) return;
  INFO(sizeof(T) * 8, " bits, memory ", in_memory, ", waited for ", waited_for);
  const Word<T> word;
  word.store(in_memory);
  s->wait_value(word.address(), waited_for, condition);
  CHECK_WORKS(*s);
}

// A wait that holds the stream until the host writes `release`.
template <class T>
void check_holds(WaitCondition condition, T in_memory, T waited_for, T release) {
  const StreamPtr s = device().create_stream();
  if (!needs_wait<T>(*s, condition)) return;
  INFO(sizeof(T) * 8, " bits, memory ", in_memory, ", waited for ", waited_for, ", released by ", release);
  Board board;
  const Word<T> word;
  word.store(in_memory);
  s->wait_value(word.address(), waited_for, condition);
  board.put(*s, 0, 1);
  check_held_until(*s, board, 0, 1, [&] { word.store(release); });
}

template <class T>
void check_write() {
  const StreamPtr s = device().create_stream();
  const Word<T> word;
  if (!needs(*s, {write_feature<T>}, [&] { s->write_value(word.address(), T{1}); })) {
    CHECK(word.load() == 0);
    return;
  }
  for (const T value : {T{1}, T{0}, std::numeric_limits<T>::max(), static_cast<T>(0x123456789ABCDEF0U)}) {
    s->write_value(word.address(), value);
    s->synchronize();
    CHECK(word.load() == value);
  }
}

TEST_CASE("S45 write value: 32 bits") { check_write<std::uint32_t>(); }
TEST_CASE("S45 write value: 64 bits") { check_write<std::uint64_t>(); }

CASE(OneStream, "S45 write value: touches its own bytes alone") {
  const auto words = device().allocate<std::uint32_t>(4, MemoryKind::pinned);
  if (!needs(*s, {Feature::write_value_32}, [&] { s->write_value(words.data(), 1U); })) return;
  for (std::uint32_t& w : words.host()) w = 9;
  s->write_value(words.data() + 1, 5U);
  s->synchronize();
  CHECK(words.host()[0] == 9);
  CHECK(words.host()[1] == 5);
  CHECK(words.host()[2] == 9);
}

CASE(WithBoard, "S45 write value: into device memory, seen by later work") {
  if (!needs(*s, {Feature::write_value_32}, [&] { s->write_value(board.cell(0).data(), 1U); })) return;
  s->write_value(board.cell(0).data(), 17U);
  CHECK(board.read(*s, 0) == 17);
}

CASE(WithBoard, "S45 write value: ordered like all other work") {
  const Word32 word;
  if (!needs(*s, {Feature::write_value_32}, [&] { s->write_value(word.address(), 1U); }) || !needs_gate(*s)) return;
  Gate gate;
  s->write_value(word.address(), 1U);
  gate.hold(*s);
  board.put(*s, 0, 1);
  s->write_value(word.address(), 2U);
  CHECK(eventually([&] { return word.load() == 1; }));
  settle();
  CHECK(word.load() == 1);
  gate.open();
  CHECK(eventually([&] { return word.load() == 2; }));
  CHECK(board[0] == 1);  // the work before it was done when the value was written
}

TEST_CASE("S46 wait value: ==, 32 and 64 bits") {
  check_passes<std::uint32_t>(WaitCondition::eq, 0, 0);
  check_passes<std::uint32_t>(WaitCondition::eq, 0xFFFFFFFF, 0xFFFFFFFF);
  check_holds<std::uint32_t>(WaitCondition::eq, 1, 2, 2);
  check_holds<std::uint32_t>(WaitCondition::eq, 3, 2, 2);
  check_passes<std::uint64_t>(WaitCondition::eq, 1ULL << 40U, 1ULL << 40U);
  check_holds<std::uint64_t>(WaitCondition::eq, 5, (1ULL << 32U) + 5, (1ULL << 32U) + 5);
}

TEST_CASE("S46 wait value: >=, 32 and 64 bits") {
  check_passes<std::uint32_t>(WaitCondition::geq, 0, 0);
  check_passes<std::uint32_t>(WaitCondition::geq, 8, 7);
  check_passes<std::uint32_t>(WaitCondition::geq, 0x7FFFFFFF, 0);
  check_holds<std::uint32_t>(WaitCondition::geq, 6, 7, 9);
  check_passes<std::uint64_t>(WaitCondition::geq, (1ULL << 33U) + 1, 1ULL << 33U);
  check_holds<std::uint64_t>(WaitCondition::geq, 0xFFFFFFFF, 1ULL << 32U, 1ULL << 32U);
}

TEST_CASE("S46 wait value: >= is cyclic, so that counters may wrap") {
  check_passes<std::uint32_t>(WaitCondition::geq, 1, 0xFFFFFFFF);           // two steps ahead, across the wrap
  check_passes<std::uint32_t>(WaitCondition::geq, 0x80000000, 0x7FFFFFFF);  // ahead, across the sign
  check_holds<std::uint32_t>(WaitCondition::geq, 0xFFFFFFFF, 1, 2);         // two steps behind, across the wrap
  check_holds<std::uint32_t>(WaitCondition::geq, 0x7FFFFFFF, 0x80000001, 0x80000001);
  check_passes<std::uint64_t>(WaitCondition::geq, 1, std::numeric_limits<std::uint64_t>::max());
  check_holds<std::uint64_t>(WaitCondition::geq, std::numeric_limits<std::uint64_t>::max(), 1, 1);
}

TEST_CASE("S46 wait value: &, 32 and 64 bits") {
  check_passes<std::uint32_t>(WaitCondition::bit_and, 0b1100, 0b0100);
  check_holds<std::uint32_t>(WaitCondition::bit_and, 0b1000, 0b0111, 0b1010);
  check_holds<std::uint32_t>(WaitCondition::bit_and, 0, 0x80000000, 0xFFFFFFFF);
  check_passes<std::uint64_t>(WaitCondition::bit_and, 1ULL << 63U, 1ULL << 63U);
  check_holds<std::uint64_t>(WaitCondition::bit_and, 0xFFFFFFFF, 1ULL << 35U, 1ULL << 35U);
}

TEST_CASE("S46 wait value: nor, 32 and 64 bits") {
  check_passes<std::uint32_t>(WaitCondition::bit_nor, 0, 0);
  check_passes<std::uint32_t>(WaitCondition::bit_nor, 0xFFFF0000, 0x0000FFFE);
  check_holds<std::uint32_t>(WaitCondition::bit_nor, 0xFFFFFFFF, 0, 0xFFFFFFFE);
  check_holds<std::uint32_t>(WaitCondition::bit_nor, 0xFFFF0000, 0x0000FFFF, 0xFFFE0000);
  check_passes<std::uint64_t>(WaitCondition::bit_nor, 0xFFFFFFFF, 0);
  check_holds<std::uint64_t>(WaitCondition::bit_nor, ~0ULL, 0, ~(1ULL << 40U));
}

CASE(OneStream, "S46 wait value: compares with >= unless told otherwise") {
  if (!needs_wait<std::uint32_t>(*s, WaitCondition::geq)) return;
  const Word32 word;
  word.store(5);
  s->wait_value(word.address(), 3U);
}

CASE(OneStream, "S46 wait value: that flushes remote writes") {
  const Word32 word;
  word.store(1);
  const auto use = [&] { s->wait_value(word.address(), 1U, WaitCondition::eq, weir::RemoteWrites::flush); };
  if (!needs(*s, {Feature::wait_value_32, Feature::wait_value_flush}, use)) return;
  use();
}

CASE(WithBoard, "S46 wait value: of device memory, released by another stream's write, copy and fill") {
  const StreamPtr waiting = device().create_stream();
  const StreamPtr other = device().create_stream();
  if (!needs_wait<std::uint32_t>(*waiting, WaitCondition::eq)) return;
  for (const std::string way : {"write", "copy", "fill"}) {
    if (way == "write" && !device().supports(Feature::write_value_32)) continue;
    INFO("released by a ", way);
    board.set(*other, 0, 0);
    board.set(*other, 2, 1);
    other->synchronize();
    board.clear();
    waiting->wait_value(board.cell(0).data(), 1U, WaitCondition::eq);
    board.put(*waiting, 1, 1);
    check_held_until(*waiting, board, 1, 1, [&] {
      if (way == "write") other->write_value(board.cell(0).data(), 1U);
      if (way == "copy") board.move(*other, 0, 2);
      if (way == "fill") board.set(*other, 0, 1);
    });
    other->synchronize();
  }
}

CASE(WithBoard, "S46 wait value: released by another thread, in pinned memory") {
  if (!needs_wait<std::uint64_t>(*s, WaitCondition::geq)) return;
  const Word64 word;
  s->wait_value(word.address(), std::uint64_t{3});
  board.put(*s, 0, 1);
  std::thread releasing([&] {
    for (std::uint64_t v = 1; v <= 3; ++v) word.store(v);
  });
  s->synchronize();
  releasing.join();
  CHECK(board[0] == 1);
}

CASE(WithBoard, "S46 wait value: holds its stream alone, and many may wait for one word") {
  if (!needs_wait<std::uint32_t>(*device().create_stream(), WaitCondition::geq)) return;
  constexpr std::size_t count = 5;
  const Word32 word;
  const std::vector<StreamPtr> streams = create_streams(count);
  for (std::size_t i = 0; i < count; ++i) {
    streams[i]->wait_value(word.address(), static_cast<std::uint32_t>(i + 1));
    board.put(*streams[i], i, 1);
  }
  const StreamPtr free = device().create_stream();
  CHECK_WORKS(*free);
  for (std::size_t released = 1; released <= count; ++released) {
    word.store(static_cast<std::uint32_t>(released));
    streams[released - 1]->synchronize();
    CHECK(board[released - 1] == 1);
    if (released < count) CHECK_FALSE(streams[released]->is_complete());
  }
}

CASE(OneStream, "S45 S46 wait value: a ring of streams hands a token on by writes and waits") {
  if (!needs_write_32(*s) || !needs_wait<std::uint32_t>(*s, WaitCondition::eq)) return;
  const Word32 word;
  constexpr std::uint32_t streams = 4, rounds = 50;
  const std::vector<StreamPtr> ring = create_streams(streams);
  for (std::uint32_t turn = 0; turn < streams * rounds; ++turn) {
    Stream& next = *ring[turn % streams];
    next.wait_value(word.address(), turn, WaitCondition::eq);
    next.write_value(word.address(), turn + 1);
  }
  for (const StreamPtr& stream : ring) stream->synchronize();
  CHECK(word.load() == streams * rounds);
}

CASE(WithOther, "S22 S46 wait value: an event behind it is not complete before it is over") {
  if (!needs_wait<std::uint32_t>(*s, WaitCondition::eq)) return;
  const Word32 word;
  s->wait_value(word.address(), 4U, WaitCondition::eq);
  const EventPtr event = s->record();
  other->wait(*event);
  board.put(*other, 0, 1);
  check_held_until(*other, board, 0, 1, [&] {
    CHECK_FALSE(event->is_complete());
    word.store(4);
  });
  CHECK(event->is_complete());
}

CASE(OneStream, "S45 S46 misuse: a null or misaligned address is an error without effect") {
  const Word64 word;
  auto* const half = reinterpret_cast<std::uint32_t*>(word.address());
  if (!needs_write_32(*s) || !needs_wait<std::uint32_t>(*s, WaitCondition::eq)) return;
  auto* const odd = reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::uintptr_t>(half) + 2);
  CHECK_REFUSED(Errc::invalid_argument, s->write_value(static_cast<std::uint32_t*>(nullptr), 1U));
  CHECK_REFUSED(Errc::invalid_argument, s->wait_value(static_cast<const std::uint32_t*>(nullptr), 0U, WaitCondition::eq));
  CHECK_REFUSED(Errc::invalid_argument, s->write_value(odd, 1U));
  CHECK_REFUSED(Errc::invalid_argument, s->wait_value(odd, 0U, WaitCondition::eq));
  if (device().supports(Feature::write_value_64) && device().supports(Feature::wait_value_64)) {
    auto* const off = reinterpret_cast<std::uint64_t*>(half + 1);
    CHECK_REFUSED(Errc::invalid_argument, s->write_value(off, std::uint64_t{1}));
    CHECK_REFUSED(Errc::invalid_argument, s->wait_value(off, std::uint64_t{0}, WaitCondition::eq));
  }
  CHECK_WORKS(*s);
  CHECK(word.load() == 0);
}

// --- Batches ----------------------------------------------------------------------------------------------------------

bool needs_batch(Stream& s, std::span<const MemoryOperation> operations) {
  if (!needs(s, {Feature::batch_memory_operations}, [&] { s.batch_memory_operations(operations); })) return false;
  for (const MemoryOperation& op : operations) {
    if (!needs(s, {op.is_wait() ? Feature::wait_value_32 : Feature::write_value_32},
               [&] { s.batch_memory_operations(operations); }))
      return false;
  }
  return true;
}

CASE(OneStream, "S47 batch: applies all its operations") {
  const std::array<Word32, 4> words;
  std::vector<MemoryOperation> operations;
  for (std::uint32_t i = 0; i < 4; ++i) operations.push_back(MemoryOperation::write(words[i].address(), i + 10));
  if (!needs_batch(*s, operations)) {
    for (const Word32& w : words) CHECK(w.load() == 0);
    return;
  }
  s->batch_memory_operations(operations);
  s->synchronize();
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(words[i].load() == i + 10);
}

CASE(WithBoard, "S47 batch: in its order, waits among the writes, and 64 bits beside 32") {
  const Word32 before, gate, after;
  const Word64 wide;
  std::vector<MemoryOperation> operations = {
      MemoryOperation::write(before.address(), 1U),
      MemoryOperation::wait(gate.address(), 1U, WaitCondition::eq),
      MemoryOperation::write(after.address(), 1U),
  };
  if (!needs_batch(*s, operations)) return;
  const bool wide_too = device().supports(Feature::write_value_64) && device().supports(Feature::wait_value_64);
  if (wide_too) {
    operations.push_back(MemoryOperation::write(wide.address(), std::uint64_t{1} << 40U));
    operations.push_back(MemoryOperation::wait(wide.address(), std::uint64_t{1} << 40U, WaitCondition::eq));
  }
  s->batch_memory_operations(operations);
  board.put(*s, 0, 1);
  check_held_until(*s, board, 0, 1, [&] {
    CHECK(after.load() == 0);
    gate.store(1);
  });
  CHECK(before.load() == 1);
  CHECK(after.load() == 1);
  if (wide_too) CHECK(wide.load() == std::uint64_t{1} << 40U);
}

CASE(OneStream, "S27 S47 batch: contiguous: nothing of another thread's comes in between") {
  const Word32 word;
  const std::array<MemoryOperation, 2> probe = {MemoryOperation::write(word.address(), 0),
                                                MemoryOperation::wait(word.address(), 0, WaitCondition::eq)};
  if (!needs_batch(*s, probe)) return;
  // Each batch writes its own value and waits to find it: with another's write in between the stream would stand still.
  in_parallel(4, [&](std::size_t t) {
    for (std::size_t i = 0; i < 100; ++i) {
      const auto mine = static_cast<std::uint32_t>(t * 1000 + i + 1);
      const std::array<MemoryOperation, 2> operations = {MemoryOperation::write(word.address(), mine),
                                                         MemoryOperation::wait(word.address(), mine, WaitCondition::eq)};
      s->batch_memory_operations(operations);
    }
  });
  CHECK(eventually([&] { return s->is_complete(); }));
}

CASE(OneStream, "S47 batch: a long one is applied whole, or refused whole with an error") {
  constexpr std::uint32_t count = 1000;
  const auto words = device().allocate<std::uint32_t>(count, MemoryKind::pinned);
  for (std::uint32_t& w : words.host()) w = 0;
  std::vector<MemoryOperation> operations;
  for (std::uint32_t i = 0; i < count; ++i) operations.push_back(MemoryOperation::write(words.data() + i, i + 1));
  if (!needs_batch(*s, operations)) return;
  s->batch_memory_operations(std::span(operations).first(64));
  s->synchronize();
  for (std::uint32_t i = 0; i < count; ++i) REQUIRE(words.host()[i] == (i < 64 ? i + 1 : 0));
  const Refusal refusal = refusal_of([&] { s->batch_memory_operations(operations); });
  s->synchronize();
  if (refusal.threw) {
    CHECK_MESSAGE(refusal.is(Errc::invalid_argument), refusal.text);
    for (std::uint32_t i = 64; i < count; ++i) REQUIRE(words.host()[i] == 0);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) REQUIRE(words.host()[i] == i + 1);
  }
}

CASE(OneStream, "S47 batch: of nothing does nothing; one wrong operation refuses the whole") {
  const Word32 first, last;
  const std::array<MemoryOperation, 3> operations = {MemoryOperation::write(first.address(), 1U),
                                                     MemoryOperation::write(static_cast<std::uint32_t*>(nullptr), 1U),
                                                     MemoryOperation::write(last.address(), 1U)};
  if (!needs_batch(*s, std::span(operations).first(1))) return;
  s->batch_memory_operations({});
  CHECK(s->is_complete());
  CHECK_REFUSED(Errc::invalid_argument, s->batch_memory_operations(operations));
  CHECK_WORKS(*s);
  CHECK(first.load() == 0);
  CHECK(last.load() == 0);
}

CASE(OneStream, "S46 S47 batch: with a flush of remote writes") {
  const Word32 word;
  const std::array<MemoryOperation, 2> operations = {MemoryOperation::flush_remote_writes(),
                                                     MemoryOperation::write(word.address(), 1U)};
  if (!needs(*s, {Feature::batch_memory_operations, Feature::wait_value_flush, Feature::write_value_32},
             [&] { s->batch_memory_operations(operations); })) {
    CHECK(word.load() == 0);
    return;
  }
  s->batch_memory_operations(operations);
  s->synchronize();
  CHECK(word.load() == 1);
}

}  // namespace conformance::memory_operations_cases
