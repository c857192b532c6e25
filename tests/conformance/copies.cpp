// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "capture.hpp"

/// Copies: with types, in bytes, in two dimensions, and between all pairs of memory kinds.
namespace conformance::copies_cases {

TEST_SUITE_BEGIN("copies");

/// Rows of bytes at a pitch.
template <class T>
PitchedSpan<std::byte> rows(T* data, std::size_t pitch, std::size_t width, std::size_t height) {
  return {reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(data)), {width, height}, pitch, 0};
}
PitchedSpan<std::byte> rows(std::nullptr_t, std::size_t pitch, std::size_t width, std::size_t height) {
  return {nullptr, {width, height}, pitch, 0};
}

CASE(OneStream, "S42 S43 copy: from host to device and back, from what has data and size") {
  const auto source = numbers(1000, 1);
  Values back(1000);
  const auto memory = device().allocate<std::uint32_t>(1000);
  s->copy(memory, source);
  s->copy(back, memory);
  s->synchronize();
  CHECK(back == source);

  std::array<std::uint32_t, 4> array = {5, 6, 7, 8};
  std::uint32_t plain[4] = {};
  s->copy(memory.subspan(996, 4), array);
  s->copy(plain, memory.subspan(996, 4));
  s->copy(std::span(back).first(3), std::span<const std::uint32_t>(array).last(3));
  s->synchronize();
  CHECK(std::equal(array.begin(), array.end(), plain));
  CHECK(back[0] == 6);
  CHECK(back[2] == 8);
}

CASE(OneStream, "S42 S43 copy: between every pair of kinds of memory, the direction found from the addresses") {
  constexpr std::size_t count = 257;
  std::vector<MemoryKind> kinds = {MemoryKind::device, MemoryKind::pinned};
  if (device().supports(Feature::managed_memory)) kinds.push_back(MemoryKind::managed);
  std::uint32_t first = 1;
  for (const MemoryKind from : kinds) {
    for (const MemoryKind to : kinds) {
      INFO("from ", std::string(weir::to_string(from)), " to ", std::string(weir::to_string(to)));
      const auto a = device().allocate<std::uint32_t>(count, from);
      const auto b = device().allocate<std::uint32_t>(count, to);
      const auto source = numbers(count, first += 1000);
      Values back(count);
      s->copy(a, source);
      s->copy(b, a);
      s->copy(back, b);
      s->synchronize();
      CHECK(back == source);
    }
  }
}

CASE(OneStream, "S19 S43 read: elements come back behind the work before, and none while the stream captures") {
  const auto memory = device().allocate<std::uint32_t>(1000);
  s->fill(memory, 1U);
  s->fill(memory.subspan(0, 500), 2U);
  const Values back = s->read(memory);
  CHECK(s->is_complete());
  CHECK(back.size() == 1000);
  CHECK(back[499] == 2);
  CHECK(back[500] == 1);
  CHECK(s->read(Span<const float>()).empty());
  std::uint32_t last = 0;
  weir::detail::read_bytes(*s, &last, memory.data() + 999, sizeof(last));
  CHECK(last == 1);
  CHECK_REFUSED(Errc::invalid_argument, weir::detail::read_bytes(*s, &last, nullptr, sizeof(last)));
  if (!needs_capture(*s)) return;
  const GraphPtr graph =
      s->capture([&](Stream& captured) { CHECK_REFUSED(Errc::capture_unsupported, captured.read(memory)); });
  CHECK(graph->node_count() == 0);
}

CASE(OneStream, "S42 copy: more bytes than there can be is an error without effect") {
  const auto memory = device().allocate<std::uint32_t>(16);
  Values host(16, 3);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const Span<std::uint32_t> endless(memory.data(), most / 4 + 2);  // 4 bytes, were it to wrap
  const Span<std::uint32_t> there(host.data(), most / 4 + 2);
  CHECK_REFUSED(Errc::invalid_argument, endless.size_bytes());
  CHECK_REFUSED(Errc::invalid_argument, s->copy(there, endless));
  CHECK_REFUSED(Errc::invalid_argument, device().copy(there, endless));
  CHECK_REFUSED(Errc::invalid_argument, s->read(endless));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_bytes(host.data(), memory.data(), most / 2));
  CHECK_REFUSED(Errc::invalid_argument, device().copy_bytes(host.data(), memory.data(), most / 2));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_peer(host.data(), device(), memory.data(), device(), most));
  CHECK_REFUSED(Errc::invalid_argument, s->copy(rows(host.data(), 64, 64, 5), rows(memory.data(), most / 4, 64, 5)));
  CHECK_REFUSED(Errc::invalid_argument, s->copy(rows(host.data(), most, most, 1), rows(memory.data(), most, most, 1)));
  s->synchronize();
  CHECK(host == Values(16, 3));
}

CASE(OneStream, "S43 copy: from host to host, in the stream's order") {
  const auto source = numbers(100, 1);
  const auto memory = device().allocate<std::uint32_t>(100);
  Values first(100), second(100);
  s->copy(memory, source);
  s->copy(first, memory);
  s->copy(second, first);
  s->synchronize();
  CHECK(second == source);
}

CASE(OneStream, "S43 copy: megabytes, and odd counts at odd offsets") {
  constexpr std::size_t size = (std::size_t{8} << 20U) + 3;
  std::vector<unsigned char> source(size), back(size);
  for (std::size_t i = 0; i < size; ++i) source[i] = static_cast<unsigned char>(i * 31 + (i >> 11U));
  const auto a = device().allocate<unsigned char>(size);
  const auto b = device().allocate<unsigned char>(size);
  s->copy(a, source);
  s->copy(b.subspan(3, size - 3), a.subspan(0, size - 3));
  s->copy(b.subspan(0, 3), a.subspan(size - 3, 3));
  s->copy(std::span(back).subspan(1), b.subspan(1, size - 1));
  s->synchronize();
  CHECK(std::memcmp(back.data() + 3, source.data(), size - 3) == 0);
  CHECK(back[0] == 0);
  CHECK(back[1] == source[size - 2]);
  CHECK(back[2] == source[size - 1]);
}

CASE(OneStream, "S43 copy: of pageable memory, which may be changed as soon as the stream has been waited for") {
  const auto memory = device().allocate<std::uint32_t>(50000);
  Values host(50000), back(50000);
  for (std::uint32_t round = 1; round <= 5; ++round) {
    std::fill(host.begin(), host.end(), round);
    s->copy(memory, host);
    s->copy(back, memory);
    s->synchronize();
    CHECK(back == host);
  }
}

CASE(WithGate, "S43 copy: to and from pinned memory does not block the host while the stream is held") {
  const auto memory = device().allocate<std::uint32_t>(1000);
  const auto in = device().allocate<std::uint32_t>(1000, MemoryKind::pinned);
  const auto out = device().allocate<std::uint32_t>(1000, MemoryKind::pinned);
  std::fill(in.host().begin(), in.host().end(), 1U);
  std::fill(out.host().begin(), out.host().end(), 0U);
  Gate gate(*s);
  s->copy(memory, in);
  s->copy(out, memory);
  CHECK_FALSE(s->is_complete());
  CHECK(out.host()[999] == 0);
  std::fill(in.host().begin(), in.host().end(), 2U);  // the address is used when the work runs
  gate.finish(*s);
  CHECK(all_are(out, 2));
}

CASE(OneStream, "S42 copy: lengths must agree, else it is an error without effect") {
  const auto memory = device().allocate<std::uint32_t>(8);
  const Values longer(9, 7), shorter(7, 7), none;
  Values back(8, 1);
  s->fill(memory, 3U);
  CHECK_REFUSED(Errc::length_mismatch, s->copy(memory, longer));
  CHECK_REFUSED(Errc::length_mismatch, s->copy(memory, shorter));
  CHECK_REFUSED(Errc::length_mismatch, s->copy(std::span(back).first(7), memory));
  CHECK_REFUSED(Errc::length_mismatch, s->copy(memory, memory.subspan(1, 7)));
  CHECK_REFUSED(Errc::length_mismatch, s->copy(memory, none));
  const Refusal refusal = refusal_of([&] { s->copy(memory, longer); });
  CHECK(refusal.says("8"));
  CHECK(refusal.says("9"));
  CHECK(s->read(memory) == Values(8, 3));
}

CASE(OneStream, "S42 copy: of nothing does nothing, wherever it points") {
  if (device().supports(Feature::graph_capture)) {
    const GraphPtr graph = s->capture([](Stream& c) {
      std::vector<int> nothing;
      c.copy(nothing, weir::Span<int>());
      c.copy_bytes(nullptr, nullptr, 0);
      c.copy(rows(nullptr, 0, 0, 5), rows(nullptr, 0, 0, 5));
      c.copy(rows(nullptr, 0, 5, 0), rows(nullptr, 0, 5, 0));
      c.fill(weir::Span<int>(), 0);
    });
    CHECK(graph->node_count() == 0);
  }
  std::vector<int> empty;
  const auto no_memory = device().allocate<int>(0);
  s->copy(no_memory, empty);
  s->copy(empty, Span<const int>());
  s->copy_bytes(nullptr, nullptr, 0);
  CHECK(s->is_complete());
}

CASE(OneStream, "S42 copy: from or to null is an error") {
  const auto memory = device().allocate<int>(4);
  CHECK_REFUSED(Errc::invalid_argument, s->copy_bytes(nullptr, memory.data(), 4));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_bytes(memory.data(), nullptr, 4));
  CHECK_REFUSED(Errc::invalid_argument, s->copy(rows(nullptr, 4, 4, 1), rows(memory.data(), 4, 4, 1)));
  CHECK_REFUSED(Errc::invalid_argument, s->copy(rows(memory.data(), 4, 4, 1), rows(nullptr, 4, 4, 1)));
}

CASE(OneStream,
     "S43 copy 2D: rows at their pitches, in both directions and on the device; nothing between the rows is touched") {
  constexpr std::size_t width = 13, height = 7, device_pitch = 32, host_pitch = 20, other_pitch = 64;
  std::vector<unsigned char> source(host_pitch * height), back(host_pitch * height, 0xAA);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i + 1);
  const auto a = device().allocate<unsigned char>(device_pitch * height);
  const auto b = device().allocate<unsigned char>(other_pitch * height);
  std::vector<unsigned char> all(b.size());
  s->fill(a, static_cast<unsigned char>(0x11));
  s->fill(b, static_cast<unsigned char>(0x22));
  s->copy(rows(a.data(), device_pitch, width, height), rows(source.data(), host_pitch, width, height));
  s->copy(rows(b.data(), other_pitch, width, height), rows(a.data(), device_pitch, width, height));
  s->copy(rows(back.data(), host_pitch, width, height), rows(b.data(), other_pitch, width, height));
  s->copy(all, b);
  s->synchronize();
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < host_pitch; ++x) {
      const unsigned char expected = x < width ? source[y * host_pitch + x] : 0xAA;
      REQUIRE(back[y * host_pitch + x] == expected);
    }
    for (std::size_t x = width; x < other_pitch; ++x) REQUIRE(all[y * other_pitch + x] == 0x22);
  }
}

CASE(Capture, "S43 copy 2D: is one node of a graph") {
  const auto in = device().allocate<std::uint32_t>(64, MemoryKind::pinned);
  const auto memory = device().allocate<std::uint32_t>(64);
  const auto out = device().allocate<std::uint32_t>(64, MemoryKind::pinned);
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.copy(rows(memory.data(), 32, 12, 4), rows(in.data(), 16, 12, 4));
    c.copy(rows(out.data(), 16, 12, 4), rows(memory.data(), 32, 12, 4));
  });
  CHECK(graph->topology().nodes == std::vector<NodeKind>{NodeKind::copy, NodeKind::copy});
  std::ranges::copy(numbers(64, 100), in.host().begin());
  std::fill(out.host().begin(), out.host().end(), 0U);
  run(graph, *s);
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 4; ++x) CHECK(out.host()[y * 4 + x] == (x < 3 ? 100 + y * 4 + x : 0));
  }
}

CASE(OneStream, "S43 copy 2D: rows that overlap at their pitch are an error; one row needs no pitch") {
  const auto a = device().allocate<unsigned char>(256);
  const auto b = device().allocate<unsigned char>(256);
  CHECK_REFUSED(Errc::invalid_argument, s->copy(rows(a.data(), 15, 16, 2), rows(b.data(), 16, 16, 2)));
  CHECK_REFUSED(Errc::invalid_argument, s->copy(rows(a.data(), 16, 16, 2), rows(b.data(), 8, 16, 2)));
  s->copy(rows(a.data(), 0, 16, 1), rows(b.data(), 0, 16, 1));
  s->copy(rows(a.data(), 16, 16, 16), rows(b.data(), 16, 16, 16));
}

CASE(Capture, "S39 S43 copy: captured, it is a node, and its addresses are used at each launch") {
  const auto in = device().allocate<std::uint32_t>(16, MemoryKind::pinned);
  const auto memory = device().allocate<std::uint32_t>(16);
  const auto out = device().allocate<std::uint32_t>(16, MemoryKind::pinned);
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.copy(memory, in);
    c.copy(out, memory);
  });
  CHECK(graph->topology().nodes == std::vector<NodeKind>{NodeKind::copy, NodeKind::copy});
  const GraphExecPtr exec = graph->instantiate();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    std::fill(in.host().begin(), in.host().end(), round);
    run(exec, *s);
    CHECK(out.host()[15] == round);
  }
}

CASE(Capture, "S39 S42 copy: a wrong one inside a capture is refused, and the capture goes on") {
  const Values two(2);
  Survivor capture(*s, CaptureMode::thread_local_);
  CHECK_REFUSED(Errc::length_mismatch, s->copy(board.cell(0), two));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_bytes(nullptr, board.cell(0).data(), 4));
  capture.finish();
}

CASE(OneStream, "S43 copy: the device's own, blocking one is done when it returns, and orders nothing") {
  const auto memory = device().allocate<std::uint32_t>(100);
  const auto source = numbers(100, 1);
  Values back(100);
  device().copy(memory, source);
  device().copy(back, memory);
  CHECK(back == source);
  CHECK_REFUSED(Errc::length_mismatch, device().copy(memory, numbers(99, 1)));
  CHECK_REFUSED(Errc::invalid_argument, device().copy_bytes(nullptr, memory.data(), 4));
  device().copy_bytes(nullptr, nullptr, 0);
  if (!needs_gate(*s)) return;
  Gate gate(*s);
  std::fill(back.begin(), back.end(), 0U);
  device().copy(back, memory);  // returns although a non-blocking stream is held
  CHECK(back == source);
  CHECK_FALSE(s->is_complete());
  gate.finish(*s);
}

CASE(OneStream, "S43 copy: of registered memory is asynchronous like that of pinned memory") {
  Values host(4096, 5);
  if (!needs(*s, {Feature::host_registration}, [&] { (void)device().register_host(std::span(host)); })) return;
  if (!needs_gate(*s)) return;
  const auto memory = device().allocate<std::uint32_t>(4096);
  {
    const auto registration = device().register_host(std::span(host));
    CHECK(registration->data() == host.data());
    CHECK(registration->size_bytes() == host.size() * sizeof(std::uint32_t));
    CHECK(registration->device_pointer() != nullptr);
    Gate gate(*s);
    s->copy(memory, host);
    s->fill(memory, 6U);
    s->copy(host, memory);
    CHECK_FALSE(s->is_complete());
    CHECK(host[0] == 5);
    gate.finish(*s);
    CHECK(host[4095] == 6);
  }
  auto again = device().register_host(host);
  CHECK(again->data() == host.data());
  CHECK(again->size_bytes() == host.size() * sizeof(std::uint32_t));
  again.reset();
  CHECK_REFUSED(Errc::invalid_argument, device().register_host(host.data(), std::numeric_limits<std::size_t>::max()));
  CHECK_REFUSED(Errc::invalid_argument, device().register_host(Span<int>()));
}

CASE(WithBoard, "S43 copy: between the device and itself as if between two") {
  board.set(*s, 0, 9);
  s->copy_peer(board.cell(1).data(), device(), board.cell(0).data(), device(), sizeof(std::uint32_t));
  CHECK(board.read(*s, 1) == 9);
  s->copy_peer(nullptr, device(), nullptr, device(), 0);
  CHECK_REFUSED(Errc::invalid_argument, s->copy_peer(nullptr, device(), board.cell(0).data(), device(), 4));
  CHECK_WORKS(*s);
  if (!device().supports(Feature::graph_capture)) return;
  run(s->capture([&](Stream& c) { c.copy_peer(board.cell(2).data(), device(), board.cell(0).data(), device(), 4); }), *s);
  CHECK(board.read(*s, 2) == 9);
}

CASE(OneStream, "S43 copy 3D: a box goes from one volume to another, and nothing around it is touched") {
  constexpr Extent all{7, 5, 4}, box{3, 2, 3};
  constexpr Position from{2, 1, 1}, to{4, 3, 0};
  const std::size_t count = all.width * all.height * all.depth;
  const Values source = numbers(count);
  const auto a = device().allocate<std::uint32_t>(count), b = device().allocate<std::uint32_t>(count);
  const auto shown = device().allocate<std::uint32_t>(count, MemoryKind::pinned);
  const auto work = [&](Stream& on) {
    on.fill(b, 1000U);
    on.copy(pitched(b, all).box(to, box), pitched(a, all).box(from, box));
    on.copy(pitched(shown, all), pitched(b, all));
  };
  const auto check = [&] {
    s->synchronize();
    std::size_t i = 0;
    for (std::size_t z = 0; z < all.depth; ++z) {
      for (std::size_t y = 0; y < all.height; ++y) {
        for (std::size_t x = 0; x < all.width; ++x, ++i) {
          const bool inside =
              x >= to.x && x < to.x + box.width && y >= to.y && y < to.y + box.height && z >= to.z && z < to.z + box.depth;
          const std::size_t origin = ((z - to.z + from.z) * all.height + y - to.y + from.y) * all.width + x - to.x + from.x;
          REQUIRE(shown.host()[i] == (inside ? source[origin] : 1000U));
        }
      }
    }
  };
  s->copy(a, source);
  work(*s);
  check();
  if (!device().supports(Feature::graph_capture)) return;
  std::fill(shown.host().begin(), shown.host().end(), 0U);
  const GraphPtr graph = s->capture(work);
  CHECK(graph->topology().nodes == std::vector<NodeKind>{NodeKind::fill, NodeKind::copy, NodeKind::copy});
  graph->instantiate()->launch(*s);
  check();
}

CASE(OneStream, "S43 copy 3D: pageable host memory, slices at a pitch of their own, and fills") {
  constexpr std::size_t row = 64, rows_apart = 6, count = row * rows_apart * 3 / 4;
  const auto memory = device().allocate<std::uint32_t>(count);
  s->fill(memory, 7U);
  const PitchedSpan<std::uint32_t> volume{memory.data(), {10, 4, 3}, row, row * rows_apart};
  const Values in = numbers(10 * 4 * 3, 100);
  Values out(in.size()), whole(count);
  s->copy(volume, pitched(in, volume.extent));
  s->copy(pitched(out, volume.extent), volume);
  s->fill(volume.box({1, 1, 1}, {2, 2, 2}), 5U);
  s->copy(whole, memory);
  s->synchronize();
  CHECK(out == in);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t x = i % (row / 4), y = i / (row / 4) % rows_apart, z = i / (row / 4) / rows_apart;
    const bool inside = x < 10 && y < 4, filled = x >= 1 && x < 3 && y >= 1 && y < 3 && z >= 1;
    REQUIRE(whole[i] == (filled ? 5 : inside ? in[(z * 4 + y) * 10 + x] : 7));
  }
}

CASE(OneStream, "S43 copy 3D: misuse has its error and no effect") {
  const auto a = device().allocate<std::uint32_t>(64), b = device().allocate<std::uint32_t>(64);
  const auto at = [](const Buffer<std::uint32_t>& buffer, std::size_t row, std::size_t slice) {
    return PitchedSpan<std::uint32_t>{buffer.data(), {2, 2, 2}, row, slice};
  };
  CHECK_REFUSED(Errc::length_mismatch, s->copy(pitched(a, {2, 2, 2}), pitched(b, {2, 2, 3})));
  CHECK_REFUSED(Errc::length_mismatch, s->copy(pitched(a, {8}), pitched(b, {4, 2})));
  CHECK_REFUSED(Errc::length_mismatch, pitched(a, {8, 8, 2}));
  CHECK_REFUSED(Errc::length_mismatch, pitched(a, {SIZE_MAX / 2, 4}));
  CHECK_REFUSED(Errc::invalid_argument, s->copy(at(a, 4, 0), at(b, 8, 0)));   // rows overlap
  CHECK_REFUSED(Errc::invalid_argument, s->copy(at(a, 8, 8), at(b, 8, 0)));   // slices overlap
  CHECK_REFUSED(Errc::invalid_argument, s->copy(at(a, 8, 0), at(b, 8, 20)));  // no whole number of rows
  CHECK_REFUSED(Errc::invalid_argument, s->copy(at(a, 8, SIZE_MAX / 8), at(b, 8, 0)));
  CHECK_REFUSED(Errc::invalid_argument, pitched(a, {4, 4, 4}).box({3}, {2}));
  CHECK_REFUSED(Errc::invalid_argument, pitched(a, {4, 4, 4}).box({0, 0, 4}, {1}));
  CHECK_REFUSED(Errc::invalid_argument, pitched(a, {4, 4, 4}).box({0, 1}, {1, SIZE_MAX}));
  s->copy(pitched(a, {0, 2, 2}), pitched(b, {0, 2, 2}));
}

CASE(OneStream, "S43 copy batch: many copies in one call, in the order of the stream, also captured") {
  constexpr std::size_t count = 100, length = 16;
  const auto source = device().allocate<std::uint32_t>(count * length);
  const auto to = device().allocate<std::uint32_t>(count * length);
  const auto pinned = device().allocate<std::uint32_t>(count * length, MemoryKind::pinned);
  std::vector<weir::BatchCopy> copies;
  for (std::size_t i = 0; i < count; ++i) {  // in the opposite order; the last ones come from pinned host memory
    const auto& from = i < count / 2 ? source : pinned;
    copies.push_back({to.data() + (count - 1 - i) * length, from.data() + i * length, length * sizeof(std::uint32_t)});
  }
  copies.push_back({nullptr, nullptr, 0});
  if (!needs(*s, {Feature::batch_copies}, [&] { s->copy_batch(copies); })) return;
  const Values values = numbers(count * length);
  std::copy(values.begin(), values.end(), pinned.host().begin());
  const auto check = [&](Stream& on) {
    const Values result = on.read(to);
    for (std::size_t i = 0; i < result.size(); ++i)
      REQUIRE(result[i] == (count - 1 - i / length) * length + i % length);
  };
  for (const StreamPtr& stream : {s, device().default_stream()}) {
    stream->fill(to, 0U);
    stream->copy(source, values);  // the batch reads what this writes
    stream->copy_batch(copies);
    check(*stream);
  }
  s->fill(to, 0U);
  s->synchronize();
  s->copy_batch(copies, weir::SourceAccess::any_time);
  check(*s);
  if (!device().supports(Feature::graph_capture)) return;
  s->fill(to, 0U);
  const GraphPtr graph = s->capture([&](Stream& c) { c.copy_batch(copies); });
  CHECK(graph->node_count() == count);
  graph->instantiate()->launch(s);
  check(*s);
}

CASE(OneStream, "S43 copy batch: misuse has its error and no effect") {
  const auto memory = device().allocate<std::uint32_t>(4);
  if (!device().supports(Feature::batch_copies)) return;
  s->fill(memory, 1U);
  using Batch = std::vector<weir::BatchCopy>;
  const weir::BatchCopy good{memory.data(), memory.data() + 2, 4};
  CHECK_REFUSED(Errc::invalid_argument, s->copy_batch(Batch{good, {nullptr, memory.data(), 4}}));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_batch(Batch{good, {memory.data(), nullptr, 4}}));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_batch(Batch{good, {memory.data(), memory.data() + 1, SIZE_MAX}}));
  CHECK_REFUSED(Errc::invalid_argument, s->copy_batch(Batch{good}, static_cast<weir::SourceAccess>(7)));
  s->copy_batch({});
  s->copy_batch(Batch{weir::BatchCopy{}, weir::BatchCopy{}});
  CHECK(s->read(memory) == Values(4, 1));
}

}  // namespace conformance::copies_cases
