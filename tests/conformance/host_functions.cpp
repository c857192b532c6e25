// SPDX-License-Identifier: Apache-2.0

#include "support.hpp"

/// Host functions and callbacks: order, ownership, exceptions, and calls that they must not make.
namespace conformance::host_functions_cases {

TEST_SUITE_BEGIN("host functions");

bool needs_host_functions(Stream& s) {
  return needs(s, {Feature::host_functions}, [&] { s.launch_host_function([] {}); });
}

struct HostFunctions : WithBoard {
  bool is_possible() { return needs_host_functions(*s); }
};
struct Callbacks : WithBoard {
  bool is_possible() {
    return needs(*s, {Feature::stream_callbacks}, [&] { s->add_callback([](Stream&, std::error_code) {}); });
  }
};

CASE(HostFunctions, "S28 host function: runs once, before synchronize returns") {
  std::atomic<int> runs{0};
  s->launch_host_function([&] { ++runs; });
  s->synchronize();
  CHECK(runs == 1);
  s->synchronize();
  CHECK(runs == 1);
}

CASE(HostFunctions, "S28 host function: a hundred run in order, each behind its own copy") {
  constexpr std::size_t count = 100;
  Values seen;
  std::atomic<int> wrong{0};
  for (std::size_t i = 0; i < count; ++i) {
    board.put(*s, i, static_cast<std::uint32_t>(i + 1));
    s->launch_host_function([&, i] {
      if (board[i] != i + 1) ++wrong;
      if (i + 1 < count && board[i + 1] != 0) ++wrong;  // what comes behind has not begun
      seen.push_back(static_cast<std::uint32_t>(i));
    });
  }
  s->synchronize();
  CHECK(wrong == 0);
  CHECK(seen == numbers(count));
}

/// A host function that blocks its stream until `leave` opens.
struct BlockingFunction {
  Latch entered, leave;

  void launch(Stream& s) {
    s.launch_host_function([this] {
      entered.open();
      (void)leave.wait();
    });
  }
};

CASE(WithBoard, "S28 host function: later work of the stream waits until it has returned; the host does not") {
  if (!needs_host_functions(*s) || !needs_host_functions_that_may_wait()) return;
  BlockingFunction function;
  function.launch(*s);
  board.put(*s, 0, 1);
  CHECK(function.entered.wait());
  check_held_until(*s, board, 0, 1, [&] { function.leave.open(); });
}

CASE(WithOther, "S28 host function: one that blocks holds up no other stream's copies and fills") {
  if (!needs_host_functions(*s) || !needs_host_functions_that_may_wait()) return;
  BlockingFunction function;
  function.launch(*s);
  CHECK(function.entered.wait());
  for (std::size_t i = 0; i < 16; ++i) board.set(*other, i, 1);
  for (std::size_t i = 0; i < 16; ++i) CHECK(board.read(*other, i) == 1);
  CHECK_FALSE(s->is_complete());
  function.leave.open();
  s->synchronize();  // the function uses its latches until it returns
}

CASE(OneStream, "S28 host function: does not run before the stream's work is done") {
  if (!needs_host_functions(*s) || !needs_gate(*s)) return;
  std::atomic<bool> ran{false};
  Gate gate(*s);
  s->launch_host_function([&] { ran = true; });
  settle();
  CHECK_FALSE(ran);
  gate.finish(*s);
  CHECK(ran);
}

CASE(TwoStreams, "S22 S28 host function: other streams wait for it through events") {
  if (!needs_host_functions(*a) || !needs_host_functions_that_may_wait()) return;
  Latch leave;
  a->launch_host_function([&] { (void)leave.wait(); });
  b->wait(*a->record());
  board.put(*b, 0, 1);
  check_held_until(*b, board, 0, 1, [&] { leave.open(); });
}

CASE(HostFunctions, "S28 host function: runs on a thread of the driver's") {
  std::thread::id id;
  s->launch_host_function([&] { id = std::this_thread::get_id(); });
  s->synchronize();
  CHECK(id != std::thread::id());
  CHECK(id != std::this_thread::get_id());
  CHECK_MESSAGE(!host_functions_hold_up_their_submitter(), "the call that submits a host function waits for it");
}

CASE(HostFunctions, "S28 host function: any move-only callable, small or large, destroyed once it has run") {
  auto unique = std::make_unique<int>(41);
  Owned shared;
  std::array<std::uint32_t, 256> large{};
  large.back() = 7;
  int sum = 0;
  s->launch_host_function([unique = std::move(unique), &sum] { sum += *unique; });
  s->launch_host_function(
      [large, object = std::move(shared.object), &sum] { sum += static_cast<int>(large.back()) + *object; });
  s->synchronize();
  CHECK(sum == 49);
  CHECK(shared.goes());
}

CASE(HostFunctions, "S28 host function: a plain function pointer is a callable, too") {
  static std::atomic<int> runs{0};
  runs = 0;
  void (*function)() = [] { ++runs; };
  s->launch_host_function(function);
  s->synchronize();
  CHECK(runs == 1);
}

CASE(HostFunctions, "S28 host function: one that cannot be enqueued is destroyed, not leaked, and never runs") {
  std::atomic<int> runs{0};
  Owned owned;
  const StreamPtr closed = device().create_stream();
  closed->close();
  CHECK_REFUSED(Errc::stream_closed, closed->launch_host_function([object = std::move(owned.object), &runs] { ++runs; }));
  CHECK(owned.is_gone());
  CHECK_REFUSED(Errc::invalid_argument, s->launch_host_function(nullptr));
  CHECK_REFUSED(Errc::invalid_argument, s->launch_host_function(weir::HostFunction()));
  CHECK_WORKS(*s);
  CHECK(runs == 0);
}

CASE(HostFunctions, "S19 S28 exception: thrown by the stream's next synchronize, once; later work still runs") {
  std::atomic<bool> later{false};
  s->launch_host_function([] { throw Boom("from a host function"); });
  board.put(*s, 0, 1);
  s->launch_host_function([&] { later = true; });
  CHECK_THROWS_WITH_AS(s->synchronize(), "from a host function", Boom);
  CHECK(later);
  CHECK(board[0] == 1);
}

CASE(HostFunctions, "S19 S28 exception: of any type, and not only of std::exception's") {
  s->launch_host_function([] { throw 42; });
  CHECK_THROWS_AS(s->synchronize(), int);
}

CASE(WithOther, "S28 exception: belongs to its stream alone, and does not come out of a query or an event") {
  if (!needs_host_functions(*s)) return;
  s->launch_host_function([] { throw Boom("of one stream"); });
  const EventPtr event = s->record();
  event->synchronize();
  CHECK(event->is_complete());
  CHECK(eventually([&] { return s->is_complete(); }));
  other->wait(*s);
  other->synchronize();
  CHECK_WORKS(*other);
  CHECK_THROWS_AS(s->synchronize(), Boom);
}

CASE(HostFunctions, "S9 S28 exception: one that nobody asks for harms nothing when the stream goes") {
  s->launch_host_function([] { throw Boom("unheard"); });
  s->record()->synchronize();
  s.reset();
  CHECK_WORKS(*device().create_stream());
}

CASE(WithOther, "S28 host function: calls into Weir are refused") {
  if (!needs_host_functions(*s)) return;
  const EventPtr event = device().create_event();
  std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"Stream::synchronize", [&] { s->synchronize(); }},
      {"Stream::synchronize of another", [&] { other->synchronize(); }},
      {"Stream::is_complete", [&] { (void)other->is_complete(); }},
      {"Stream::copy", [&] { board.move(*other, 0, 1); }},
      {"Stream::record", [&] { (void)other->record(); }},
      {"Stream::wait", [&] { other->wait(*event); }},
      {"Stream::launch_host_function", [&] { s->launch_host_function([] {}); }},
      {"Stream::close", [&] { other->close(); }},
      {"Stream::capture_status", [&] { (void)other->capture_status(); }},
      {"Event::is_complete", [&] { (void)event->is_complete(); }},
      {"Event::synchronize", [&] { event->synchronize(); }},
      {"Device::create_stream", [&] { (void)device().create_stream(); }},
      {"Device::create_event", [&] { (void)device().create_event(); }},
      {"Device::allocate", [&] { (void)device().allocate<int>(16); }},
      {"Device::copy", [&] { device().copy_bytes(board.cell(0).data(), board.cell(1).data(), 4); }},
      {"Device::synchronize", [&] { device().synchronize(); }},
  };
  if (device().supports(Feature::runtime_compilation)) {
    const weir::Kernel& iota = *kernels().iota;
    calls.emplace_back("Kernel::max_active_blocks", [&iota] { (void)iota.max_active_blocks(64); });
    calls.emplace_back("Kernel::suggested_block_size", [&iota] { (void)iota.suggested_block_size(); });
  }
  std::vector<Refusal> refusals;
  s->launch_host_function([&] {
    for (const auto& call : calls) refusals.push_back(caught(call.second));
  });
  s->synchronize();
  REQUIRE(refusals.size() == calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK_MESSAGE(refusals[i].is(Errc::called_from_host_function), calls[i].first << ": " << refusals[i].text);
  }
  CHECK_FALSE(other->is_closed());
}

CASE(HostFunctions, "S9 S28 S40 host function: objects whose last owner goes inside are ended later, elsewhere") {
  Owned owner;
  const StreamPtr original = device().create_stream();
  struct Objects {
    StreamPtr stream, wrapper;
    EventPtr event;
    Buffer<int> memory, pinned, ordered;
    GraphExecPtr exec;
  };
  auto objects = std::make_unique<Objects>();
  objects->stream = device().create_stream();
  objects->wrapper = device().wrap_stream(original->share_native_handle(), Ownership::borrow, std::move(owner.object));
  objects->event = s->record();
  objects->memory = device().allocate<int>(64);
  objects->pinned = device().allocate<int>(64, MemoryKind::pinned);
  if (device().supports(Feature::async_allocation)) objects->ordered = objects->stream->allocate_async<int>(64);
  if (device().supports(Feature::graph_capture)) objects->exec = s->capture([](Stream&) {})->instantiate();
  s->launch_host_function([objects = std::move(objects)]() mutable { objects.reset(); });
  s->synchronize();
  CHECK(owner.goes());
  CHECK_WORKS(*s);
  CHECK_WORKS(*original);
}

CASE(OneStream, "S9 S28 host function: the stream's own last owner may be what it drops") {
  if (!needs_host_functions(*s) || !needs_host_functions_that_may_wait()) return;
  const auto ran = std::make_shared<Latch>();
  Stream& stream = *s;
  auto last = std::make_unique<StreamPtr>(s);
  Latch go;
  stream.launch_host_function([last = std::move(last), ran, &go]() mutable {
    (void)go.wait();
    last.reset();
    ran->open();
  });
  s.reset();
  go.open();
  CHECK(ran->wait());
  CHECK_WORKS(*device().create_stream());
}

CASE(Callbacks, "S29 callback: gets its stream and no error, in order with other work") {
  Values order;
  std::atomic<int> wrong{0};
  for (std::uint32_t i = 0; i < 20; ++i) {
    board.put(*s, i, 1);
    s->add_callback([&, i](Stream& stream, std::error_code status) {
      if (&stream != s.get() || status || board[i] != 1) ++wrong;
      order.push_back(i);
    });
  }
  s->synchronize();
  CHECK(order == numbers(20));
  CHECK(wrong == 0);
}

CASE(Callbacks, "S29 callback: calls into Weir are refused, also on the stream that it is given") {
  Refusal refusal;
  s->add_callback([&](Stream& stream, std::error_code) { refusal = caught([&] { (void)stream.is_complete(); }); });
  s->synchronize();
  CHECK_MESSAGE(refusal.is(Errc::called_from_host_function), refusal.text);
}

CASE(Callbacks, "S19 S29 callback: what it throws comes out of the next synchronize; later work still runs") {
  s->add_callback([](Stream&, std::error_code) { throw Boom("from a callback"); });
  board.put(*s, 0, 1);
  CHECK_THROWS_AS(s->synchronize(), Boom);
  CHECK(board[0] == 1);
}

CASE(Callbacks, "S29 callback: one that cannot be enqueued is destroyed, not leaked") {
  Owned owned;
  const StreamPtr closed = device().create_stream();
  closed->close();
  CHECK_REFUSED(Errc::stream_closed, closed->add_callback([object = std::move(owned.object)](Stream&, std::error_code) {}));
  CHECK(owned.is_gone());
  CHECK_REFUSED(Errc::invalid_argument, s->add_callback(nullptr));
}

CASE(Callbacks, "S9 S29 callback: the stream may be dropped before it runs") {
  if (!needs_gate(*s)) return;
  const auto ran = std::make_shared<Latch>();
  Gate gate(*s);
  s->add_callback([ran](Stream& stream, std::error_code) {
    if (!stream.describe().empty()) ran->open();
  });
  s.reset();
  gate.open();
  CHECK(ran->wait());
}

}  // namespace conformance::host_functions_cases
