// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/saved/graph_file_format.hpp"
#include "support.hpp"
#include "tests/unit/damage.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/stream.hpp"

// Tests damaged graph files: a file with changed bytes is refused, or its graph accesses only its own memory.
namespace weir::test {
namespace {

using namespace weir::detail;

constexpr CaptureOptions portable{.portable = true};

/// A graph of all kinds of operations but kernels.
Bytes example() {
  const auto x = host().allocate<std::uint32_t>(256), y = host().allocate<std::uint32_t>(256);
  std::memset(y.data(), 0, y.size_bytes());  // which are saved
  const StreamPtr stream = host().create_stream(), forked = host().create_stream();
  const GraphPtr child = stream->capture(portable, [&](Stream& s) { s.copy(y.first(3), x.first(3)); });
  const std::array operations{MemoryOperation::write(y.data(), 1), MemoryOperation::wait(y.data(), 1)};
  const GraphPtr graph = stream->capture(portable, [&](Stream& s) {
    s.fill(x.first(16), 7U);
    forked->wait(s);
    forked->copy(pitched(y.first(64), {4, 4, 4}), pitched(x.first(64), {4, 4, 4}));
    s.wait(*forked);
    s.fill(Span(reinterpret_cast<double*>(x.data()), 5), 1.5);
    s.fill(pitched(x.first(64), {8, 8}), 2U);
    s.batch_memory_operations(operations);
    s.launch_host_function([] {}, {.name = "report"});
    s.add_child_graph(child);
    s.capture_if(
        x.data(), [&](Stream& b) { b.fill(y.first(3), 1U); }, [&](Stream& b) { b.fill(y.first(3), 2U); });
    const auto own = s.allocate_async<std::uint32_t>(64);
    s.copy(own.first(8), y.first(8));
  });
  const NamedMemory memory[] = {{"x", x}, {"y", y, MemoryRole::contents}};
  return graph->saved(memory);
}

/// Writes down the size and the check number anew.
void seal(Bytes& bytes) {
  if (bytes.size() < sizeof(BundleHeader)) return;
  put(bytes, offsetof(BundleHeader, size), bytes.size(), 8);
  put(bytes, offsetof(BundleHeader, check), check_number(std::span(bytes).subspan(sizeof(BundleHeader))), 8);
}

std::string refusal_of(const Bytes& bytes) {
  try {
    (void)host().load_graph(bytes);
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_image);
    return error.what();
  }
  return "";
}

/// All that can be done with a graph, except to run it. Its memory is as large as it says, if that is not much.
void use(const Bytes& bytes) {
  const PortableGraphPtr loaded = host().load_graph(bytes);
  std::vector<Buffer<std::byte>> buffers;
  for (const PortableMemory& memory : loaded->memory()) {
    if (memory.bytes > 1U << 20U) return;
    buffers.push_back(host().allocate<std::byte>(memory.bytes));
    loaded->bind(memory.name, buffers.back());
  }
  for (const std::string& name : loaded->host_functions()) loaded->bind(name, [] {});
  (void)loaded->instantiate();
}

}  // namespace

TEST_CASE("graph file: what is none is refused with the reason") {
  CHECK(has(refusal_of({}), "it is not a graph file"));
  CHECK(has(refusal_of(Bytes(1000)), "it is not a graph file"));
  Bytes newer = example();
  put(newer, 8, 2, 4);
  CHECK(has(refusal_of(newer), "version 2 of the format, but this Weir reads version 1"));
  Bytes cut = example();
  cut.resize(cut.size() - 16);
  CHECK(has(refusal_of(cut), "it is damaged: its header declares a size of"));
  Bytes flipped = example();
  flipped[flipped.size() - 20] ^= std::byte{4};
  CHECK(has(refusal_of(flipped), "its checksum is wrong"));
  for (std::size_t at = 12; at < 16; ++at) {
    Bytes header = example();
    header[at] ^= std::byte{1};
    CHECK(has(refusal_of(header), "bytes 12 to 15 of its header are not 0"));
  }
  CHECK(refusal_of(example()).empty());
}

TEST_CASE("graph file: what means nothing is refused") {
  BundleWriter file;
  const auto memory = [&](std::string_view name) {
    NumberWriter data;
    data.put(SavedMemory{64, 16, 0, 0, 0});
    file.add(record::memory, name, data.bytes);
  };
  const auto operation = [&](OperationKind kind, const std::vector<std::uint32_t>& after, auto... numbers) {
    NumberWriter data;
    data.put(static_cast<std::uint8_t>(kind));
    data.put(static_cast<std::uint32_t>(after.size()));
    for (const std::uint32_t each : after) data.put(each);
    (data.put(numbers), ...);
    file.add(record::operation, "", data.bytes);
  };
  const auto allocate = [&] { operation(OperationKind::allocate, {}, std::uint64_t{64}); };
  const auto free = [&](std::uint64_t offset) {
    operation(OperationKind::free, {0}, SavedAddress{SavedAddress::allocated, 0, offset});
  };
  const auto conditional = [&](ConditionalKind kind, std::uint32_t bodies) {
    memory("x");
    operation(OperationKind::conditional, {}, SavedConditional{{0, 0, 0}, static_cast<std::uint32_t>(kind), bodies});
    for (; bodies > 0; --bodies) {
      file.add(record::begin, "", "");
      file.add(record::end, "", "");
    }
  };
  const auto refusal = [&] {
    const std::string text = refusal_of(file.with_header(graph_magic, graph_version, check_number(file.records())));
    file = {};
    return text;
  };
  memory("x");
  memory("x");
  CHECK(has(refusal(), "two have the name 'x'"));
  memory("");
  CHECK(has(refusal(), "a memory has no name"));
  operation(OperationKind::copy, {}, std::uint32_t{0});
  CHECK(has(refusal(), "a list of copies is empty"));
  allocate();
  free(8);
  CHECK(has(refusal(), "freed twice, or by an address that is not its beginning"));
  allocate();
  free(0);
  CHECK(refusal().empty());
  allocate();
  free(0);
  free(0);
  CHECK(has(refusal(), "freed twice"));
  allocate();
  operation(OperationKind::free, {0, 0}, SavedAddress{SavedAddress::allocated, 0, 0});
  CHECK(has(refusal(), "operation 1 depends twice on one operation"));
  operation(OperationKind::record, {});
  CHECK(has(refusal(), "operation 0 has the kind 10"));
  conditional(ConditionalKind::while_nonzero, 1);
  CHECK(refusal().empty());
  conditional(ConditionalKind::while_nonzero, 2);
  CHECK(has(refusal(), "a conditional node has 2 bodies"));
  conditional(ConditionalKind::if_nonzero, 3);
  CHECK(has(refusal(), "a conditional node has 3 bodies"));
  conditional(ConditionalKind::switch_case, 3);
  CHECK(refusal().empty());
}

TEST_CASE("graph file: a dependency that is given twice is saved once") {
  const auto x = host().allocate<int>(4);
  const GraphPtr graph = host().create_stream()->capture(portable, [&](Stream& s) {
    s.fill(x, 1);
    const GraphNode nodes[] = {s.last_captured_node(), s.last_captured_node()};
    s.set_capture_dependencies(nodes);
    s.fill(x, 2);
  });
  const NamedMemory memory[] = {{"x", x}};
  CHECK(refusal_of(graph->saved(memory)).empty());
}

TEST_CASE("graph file: the bytes are those of docs/graph-format.md, whatever the compiler") {
  CHECK(sizeof(SavedMemory) == 16);
  CHECK(sizeof(SavedAddress) == 16);
  CHECK(sizeof(SavedBox) == 56);
  CHECK(sizeof(SavedLaunch) == 56);
  CHECK(sizeof(SavedMemoryOperation) == 32);
  CHECK(sizeof(SavedConditional) == 24);
  // Graph files and recordings store these numbers. So new kinds of operations are added at the end.
  using enum OperationKind;
  const std::pair<OperationKind, int> kinds[] = {
      {kernel, 0},   {copy, 1}, {fill, 2},         {host_function, 3}, {memory_operations, 5},
      {allocate, 6}, {free, 7}, {child_graph, 19}, {conditional, 20},  {enable_peer_access, 32}};
  for (const auto& [kind, number] : kinds) CHECK(static_cast<int>(kind) == number);
  CHECK(example() == example());
}

TEST_CASE("graph file: thousands of random changes are refused, or make a graph that stays within its memory") {
#ifdef __SANITIZE_THREAD__
  constexpr int files = 200;  // each exception takes milliseconds
#else
  constexpr int files = 20000;
#endif
  Damage damage(1);
  const Bytes whole = example();
  int refused = 0, taken = 0;
  for (int i = 0; i < files; ++i) {
    Bytes bytes = whole;
    damage.change(bytes);
    seal(bytes);
    const Bytes exact(bytes);  // no room behind the end that a sanitizer would not see
    try {
      use(exact);
      ++taken;
    } catch (const Error& error) {
      ++refused;
      const bool is_expected = error.errc() == Errc::invalid_image || error.errc() == Errc::invalid_argument ||
                               error.errc() == Errc::length_mismatch || error.errc() == Errc::out_of_memory;
      if (!is_expected) FAIL(error.what());
    }
  }
  CHECK(refused > files / 10);
  CHECK(taken > files / 10);
}

TEST_CASE("graph file: a box whose rows or slices overlap is refused") {
  const Bytes whole = example();
  const std::uint64_t box[] = {16, 4, 4, 16, 64};  // of `example`: width, height, depth, and the two pitches
  const std::string_view all = text_of(whole);
  const std::size_t at = all.find(std::string_view(reinterpret_cast<const char*>(box), sizeof(box)));
  REQUIRE(at != std::string_view::npos);
  for (const auto& [number, value] : {std::pair(4, 0), {4, 60}, {3, 0}, {3, 12}}) {
    CAPTURE(number);
    CAPTURE(value);
    Bytes bytes = whole;
    put(bytes, at + 8 * static_cast<std::size_t>(number), static_cast<std::uint64_t>(value), 8);
    seal(bytes);
    CHECK(has(refusal_of(bytes), "a box is invalid"));
  }
}

TEST_CASE("graph file: what a kernel gets must lie in memory that has a name") {
  const auto slab = host().allocate<int>(128);
  const auto named = slab.first(64), forgotten = slab.last(64);
  const ModulePtr module = host().compile(
      "struct [[gnu::packed]] Packed { char c; const int* p; };"
      "extern \"C\" __global__ void add(int* x, const int* w) { x[threadIdx.x] += w[threadIdx.x]; }"
      "extern \"C\" __global__ void packed(int* x, Packed a) { x[threadIdx.x] += a.p[threadIdx.x]; }");
  const auto add = module->untyped_kernel("add"), packed = module->untyped_kernel("packed");
  const auto refusal = [&](const std::function<void(Stream&)>& body, const NamedMemory& memory) {
    const GraphPtr graph = host().create_stream()->capture(portable, body);
    try {
      (void)graph->saved({&memory, 1});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const NamedMemory x("x", named.data(), named.size_bytes(), MemoryKind::device, MemoryRole::bound);
  CHECK(refusal([&](Stream& s) { s.launch(add, {1, 32}, named, named.first(32)); }, x).empty());
  CHECK(has(refusal([&](Stream& s) { s.launch(add, {1, 32}, named, forgotten); }, x), "is not in the named memory"));
  const NamedMemory half("x", named.data(), 16, MemoryKind::device, MemoryRole::bound);
  CHECK(has(refusal([&](Stream& s) { s.launch(add, {1, 32}, named, named); }, half), "is not in the named memory"));
  struct [[gnu::packed]] Packed {
    char c;
    const int* p;
  };
  const Packed argument{0, named.data()};
  CHECK(has(refusal(
                [&](Stream& s) {
                  s.launch(packed, {1, 32}, named, argument);
                },
                x),
            "argument 2 contains an address in named memory as a number, at byte 1"));
}

TEST_CASE("graph file: is not saved over what is no file of bytes") {
  const auto x = host().allocate<int>(4);
  const GraphPtr graph = host().create_stream()->capture(portable, [&](Stream& s) { s.fill(x, 1); });
  CHECK_THROWS_WITH_AS(graph->save("/dev/null", {{"x", x}}), doctest::Contains("is not a regular file"), Error);
}

TEST_CASE("graph file: changes of a kernel's launch are refused, or make a launch that Weir checks") {
  const auto x = host().allocate<int>(64);
  const auto twice =
      host()
          .compile(
              "extern \"C\" __global__ void twice(int n, int* x, double f) { if (threadIdx.x < n) x[threadIdx.x] *= f; }")
          ->kernel<void(int, int*, double)>("twice");
  const GraphPtr graph = host().create_stream()->capture(portable, [&](Stream& s) {
    for (int i = 0; i < 3; ++i) s.launch(twice, {1, 32}, 8, x.subspan(8), 2.0);
  });
  const NamedMemory memory[] = {{"x", x}};
  const Bytes whole = graph->saved(memory);
  // Behind the module, which would be compiled anew.
  const std::string_view all = text_of(whole);
  const std::size_t first = all.find("kern");
  REQUIRE(first != std::string_view::npos);
  Damage damage(1);
  int refused = 0, taken = 0;
  for (int i = 0; i < 100; ++i) {
    Bytes bytes = whole;
    const std::size_t at = first + damage.below(bytes.size() - first);
    if (i % 2 == 0) bytes[at] ^= static_cast<std::byte>(1U << damage.below(8));
    if (i % 2 == 1) put(bytes, std::min(at / 4 * 4, bytes.size() - 4), damage.number() >> damage.below(64), 4);
    seal(bytes);
    try {
      use(bytes);
      ++taken;
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 10);
  CHECK(taken > 10);
}

}  // namespace weir::test
