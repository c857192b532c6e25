// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Fills with elements of 8, 16 and 32 bits, in one and two dimensions.
namespace conformance::fills_cases {

TEST_SUITE_BEGIN("fills");

template <class T>
void check_fill(T value, T background) {
  const StreamPtr s = device().create_stream();
  constexpr std::size_t count = 1027;
  const auto memory = device().allocate<T>(count);
  s->fill(memory, background);
  s->fill(memory.subspan(5, count - 12), value);
  const std::vector<T> back = s->read(memory);
  for (std::size_t i = 0; i < count; ++i) REQUIRE(back[i] == (i >= 5 && i < count - 7 ? value : background));
}

TEST_CASE("S43 fill: 8 bits") {
  check_fill<std::uint8_t>(0x5A, 0);
  check_fill<signed char>(-1, 1);
}
TEST_CASE("S43 fill: 16 bits") {
  check_fill<std::uint16_t>(0x1234, 0xFFFF);
  check_fill<std::int16_t>(-2, 3);
}
TEST_CASE("S43 fill: 32 bits, also of floating point") {
  check_fill<std::uint32_t>(0x12345678, 0xFFFFFFFF);
  check_fill<std::int32_t>(-5, 5);
  check_fill<float>(1.5F, -0.25F);
}

TEST_CASE("S43 fill: 64 and 128 bits, and structs") {
  check_fill<double>(2.5, -0.125);
  check_fill<double>(0.0, 1.0);
  check_fill<std::uint64_t>(0x0123456789ABCDEFU, 0x5555555555555555U);
  check_fill<std::uint64_t>(~std::uint64_t{0}, 1);
  struct alignas(16) Quad {
    float x, y, z, w;
    bool operator==(const Quad&) const = default;
  };
  check_fill<Quad>({1, 2, 3, 4}, {5, 5, 5, 5});
  struct Colour {
    std::uint8_t r, g, b;
    bool operator==(const Colour&) const = default;
  };
  check_fill<Colour>({1, 2, 3}, {});
  struct Pair {
    std::int16_t a;
    std::int32_t b;
    bool operator==(const Pair&) const = default;
  };
  check_fill<Pair>({-1, 7}, {2, -9});
}

CASE(OneStream, "S43 fill: a captured fill of 64 bits") {
  if (!needs(*s, {Feature::graph_capture}, [&] { s->begin_capture(); })) return;
  const auto memory = device().allocate<double>(1000);
  const auto exec = s->capture([&](Stream& c) { c.fill(memory, 3.25); })->instantiate();
  s->fill(memory, 1.0);
  exec->launch(*s);
  CHECK(s->read(memory) == std::vector<double>(1000, 3.25));
}

CASE(OneStream, "S43 fill: a value is converted to the element's type") {
  const auto memory = device().allocate<float>(8);
  s->fill(memory, 3);
  CHECK(s->read(memory).back() == 3.0F);
}

CASE(OneStream, "S43 fill: only the low bits of the value count") {
  const auto memory = device().allocate<std::uint8_t>(8);
  weir::detail::fill_elements(*s, memory.data(), 0xFFFFFF12U, 1, 4);
  weir::detail::fill_elements(*s, memory.data() + 4, 0xFFFF3456U, 2, 2);
  CHECK(s->read(memory) == std::vector<std::uint8_t>{0x12, 0x12, 0x12, 0x12, 0x56, 0x34, 0x56, 0x34});
}

CASE(OneStream, "S43 fill: megabytes") {
  constexpr std::size_t count = (std::size_t{4} << 20U) + 1;
  const auto memory = device().allocate<std::uint32_t>(count);
  s->fill(memory, 0xDEADBEEFU);
  const Values back = s->read(memory);
  CHECK(std::count(back.begin(), back.end(), 0xDEADBEEFU) == static_cast<std::ptrdiff_t>(count));
}

CASE(OneStream, "S43 fill: of pinned and of managed memory") {
  for (const MemoryKind kind : {MemoryKind::pinned, MemoryKind::managed}) {
    if (kind == MemoryKind::managed && !device().supports(Feature::managed_memory)) continue;
    const auto memory = device().allocate<std::uint16_t>(333, kind);
    s->fill(memory, static_cast<std::uint16_t>(7));
    s->synchronize();
    for (const std::uint16_t v : memory.host()) REQUIRE(v == 7);
  }
}

CASE(OneStream, "S43 fill 2D: rows at their pitch; nothing between the rows is touched") {
  constexpr std::size_t pitch = 64, height = 5;
  const auto memory = device().allocate<std::uint8_t>(pitch * height);
  const auto shown = device().allocate<std::uint8_t>(pitch * height, MemoryKind::pinned);
  const auto back = shown.host();
  for (const std::uint32_t value : {0x3C3C3C3CU, 0x3F3E3D3CU, 0x3D3C3D3CU}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
      INFO("elements of ", size, " bytes, of ", value);
      const auto work = [&](Stream& on) {
        on.fill(memory, static_cast<std::uint8_t>(0));
        const auto fill = [&]<class E>(E element) {
          on.fill(PitchedSpan<E>{reinterpret_cast<E*>(memory.data()), {40 / size, height}, pitch, 0}, element);
        };
        if (size == 1) fill(static_cast<std::uint8_t>(value));
        if (size == 2) fill(static_cast<std::uint16_t>(value));
        if (size == 4) fill(value);
        on.copy(shown, memory);
      };
      const auto check = [&] {
        s->synchronize();
        for (std::size_t y = 0; y < height; ++y) {
          for (std::size_t x = 0; x < pitch; ++x)
            REQUIRE(back[y * pitch + x] == (x < 40 ? value >> (8 * (x % size)) & 0xFFU : 0));
        }
      };
      work(*s);
      check();
      if (!device().supports(Feature::graph_capture)) continue;
      std::fill(back.begin(), back.end(), std::uint8_t{1});
      s->capture(work)->instantiate()->launch(*s);
      check();
    }
  }
}

CASE(OneStream, "S43 fill: misuse has its error and no effect") {
  const auto memory = device().allocate<std::uint32_t>(16);
  const auto rows = [](std::uint32_t* data, std::size_t pitch, std::size_t width, std::size_t height) {
    return PitchedSpan<std::uint32_t>{data, {width, height}, pitch, 0};
  };
  const auto fill = [&](void* to, std::size_t size, std::size_t count) {
    weir::detail::fill_elements(*s, to, 0, size, count);
  };
  s->fill(memory, 1U);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(memory.data());
  CHECK_REFUSED(Errc::invalid_argument, fill(memory.data(), 3, 4));
  CHECK_REFUSED(Errc::invalid_argument, fill(memory.data(), 8, 4));
  CHECK_REFUSED(Errc::invalid_argument, fill(memory.data(), 0, 4));
  CHECK_REFUSED(Errc::invalid_argument, fill(nullptr, 4, 4));
  CHECK_REFUSED(Errc::invalid_argument, fill(bytes + 1, 2, 4));
  CHECK_REFUSED(Errc::invalid_argument, fill(bytes + 2, 4, 2));
  CHECK_REFUSED(Errc::invalid_argument, s->fill(rows(memory.data(), 8, 4, 2), 0U));
  CHECK_REFUSED(Errc::invalid_argument, s->fill(rows(memory.data(), 18, 4, 2), 0U));
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK_REFUSED(Errc::invalid_argument, fill(memory.data(), 4, most / 4 + 2));  // 4 bytes, were it to wrap
  CHECK_REFUSED(Errc::invalid_argument, fill(memory.data(), 1, most / 2));
  CHECK_REFUSED(Errc::invalid_argument, s->fill(rows(memory.data(), 64, most / 4 + 2, 2), 0U));
  CHECK_REFUSED(Errc::invalid_argument, s->fill(rows(memory.data(), most / 4 - 3, 4, 5), 0U));
  CHECK_REFUSED(Errc::invalid_argument, s->zero(Span<std::uint32_t>(memory.data(), most / 4 + 2)));
  CHECK(s->read(memory) == Values(16, 1));
}

CASE(OneStream, "S43 fill: zero clears elements of any size, and nothing beside them") {
  struct Triple {
    std::uint32_t words[3];
  };
  const auto memory = device().allocate<Triple>(4);
  weir::detail::fill_elements(*s, memory.data(), 7, 4, 12);
  s->zero(memory.subspan(1, 2));
  s->zero(Span<Triple>());
  const std::vector<Triple> back = s->read(memory);
  CHECK(back[0].words[2] == 7);
  CHECK(back[1].words[0] == 0);
  CHECK(back[2].words[2] == 0);
  CHECK(back[3].words[0] == 7);
}

CASE(OneStream, "S43 fill: of nothing does nothing") {
  s->fill(Span<std::uint32_t>(), 1U);
  weir::detail::fill_elements(*s, nullptr, 0, 4, 0);
  s->fill(PitchedSpan<std::uint32_t>{.extent = {0, 4}}, 0U);
  s->fill(PitchedSpan<std::uint32_t>{.extent = {4, 0}}, 0U);
  CHECK(s->is_complete());
}

CASE(Capture, "S39 S43 fill: captured, each is one node of its kind") {
  const auto memory = device().allocate<std::uint8_t>(256);
  const GraphPtr graph = s->capture([&](Stream& c) {
    weir::detail::fill_elements(c, memory.data(), 1, 1, 16);
    weir::detail::fill_elements(c, memory.data() + 16, 0x0202, 2, 8);
    weir::detail::fill_elements(c, memory.data() + 32, 0x03030303, 4, 4);
    c.fill(PitchedSpan<std::uint8_t>{memory.data() + 64, {16, 4}, 32, 0}, 4);
  });
  CHECK(graph->topology().nodes == std::vector<NodeKind>(4, NodeKind::fill));
  s->fill(memory, static_cast<std::uint8_t>(9));
  run(graph, *s);
  std::vector<std::uint8_t> expected(256, 9);
  std::fill_n(expected.begin(), 16, std::uint8_t{1});
  std::fill_n(expected.begin() + 16, 16, std::uint8_t{2});
  std::fill_n(expected.begin() + 32, 16, std::uint8_t{3});
  for (std::ptrdiff_t row = 0; row < 4; ++row) std::fill_n(expected.begin() + 64 + 32 * row, 16, std::uint8_t{4});
  CHECK(s->read(memory) == expected);
}

}  // namespace conformance::fills_cases
