// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/host/reduce.hpp"
#include "tests/collectives/ranks.hpp"

// Compares each collective operation with the sequential model, for all types and many sizes.

namespace collectives_test {
namespace {

using weir::CommunicatorFeature;
using weir::ElementType;
using weir::Reduction;
using Bytes = std::vector<std::byte>;
using Kind = weir::CollectiveCall::Kind;

bool is_floating(ElementType type) { return type >= ElementType::float16; }

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}
template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Elements as numbers: whole ones below 2^53 in size, and quotients of small ones.
void encode(ElementType type, std::byte* to, double value) {
  const auto whole = static_cast<std::int64_t>(value);
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: return store(to, static_cast<std::uint8_t>(whole));
    case ElementType::int32:
    case ElementType::uint32: return store(to, static_cast<std::uint32_t>(whole));
    case ElementType::int64:
    case ElementType::uint64: return store(to, whole);
    case ElementType::float16: return store(to, weir::collectives::float_to_half(static_cast<float>(value)));
    case ElementType::bfloat16: return store(to, weir::collectives::float_to_bfloat16(static_cast<float>(value)));
    case ElementType::float32: return store(to, static_cast<float>(value));
    case ElementType::float64: return store(to, value);
  }
}

double decode(ElementType type, const std::byte* from) {
  switch (type) {
    case ElementType::int8: return load<std::int8_t>(from);
    case ElementType::uint8: return load<std::uint8_t>(from);
    case ElementType::int32: return load<std::int32_t>(from);
    case ElementType::uint32: return load<std::uint32_t>(from);
    case ElementType::int64: return static_cast<double>(load<std::int64_t>(from));
    case ElementType::uint64: return static_cast<double>(load<std::uint64_t>(from));
    case ElementType::float16: return weir::collectives::half_to_float(load<std::uint16_t>(from));
    case ElementType::bfloat16: return weir::collectives::bfloat16_to_float(load<std::uint16_t>(from));
    case ElementType::float32: return load<float>(from);
    case ElementType::float64: return load<double>(from);
  }
  return 0;
}

// What a rank sends repeats itself, so that the model of large operations is quick. The length is prime: whatever is put in
// another place by a block's or a page's length is wrong.
constexpr std::size_t period = 8191;

// What rank `rank` sends: small whole numbers, so that sums and products of up to 8 ranks are exact in every type.
double element(int rank, std::size_t i, Reduction reduction, ElementType type) {
  i %= period;
  const std::uint64_t hash =
      (i * 2654435761U + static_cast<std::uint64_t>(rank) * 40503U + 12345U) * 0x9E3779B97F4A7C15U >> 40U;
  const bool has_sign = type != ElementType::uint8 && type != ElementType::uint32 && type != ElementType::uint64;
  switch (reduction) {
    case Reduction::prod: return static_cast<double>(1 + hash % 2);
    case Reduction::avg: return static_cast<double>(hash % 12);
    default: return static_cast<double>(hash % 13) - (has_sign ? 6 : 0);
  }
}

void fill_sent(Bytes& bytes, int rank, std::size_t count, Reduction reduction, ElementType type) {
  const std::size_t size = weir::size_of(type);
  bytes.resize(count * size);
  for (std::size_t i = 0; i < std::min(count, period); ++i)
    encode(type, &bytes[i * size], element(rank, i, reduction, type));
  for (std::size_t done = period; done < count; done += period) {
    std::memcpy(&bytes[done * size], bytes.data(), std::min(period, count - done) * size);
  }
}

double reduced(int ranks, std::size_t i, Reduction reduction, ElementType type) {
  double value = element(0, i, reduction, type);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = element(rank, i, reduction, type);
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg: value += next; break;
      case Reduction::prod: value *= next; break;
      case Reduction::min: value = std::min(value, next); break;
      case Reduction::max: value = std::max(value, next); break;
    }
  }
  if (reduction == Reduction::avg) {
    value /= ranks;
    if (!is_floating(type)) value = std::trunc(value);
  }
  return value;
}

struct Case {
  Kind kind;
  ElementType type;
  Reduction reduction;
  std::size_t count;  // of one part
  bool in_place;
  int root;
};

std::string describe(const Case& c) {
  return std::string(to_string(c.kind)) + " " + std::to_string(c.count) + " " + std::string(to_string(c.type)) + " " +
         std::string(to_string(c.reduction)) + (c.in_place ? " in place" : "") + " root " + std::to_string(c.root);
}

// What element i of what `rank` receives must be; of the kind's `received` elements.
double expected(const Case& c, int ranks, int rank, std::size_t i) {
  const std::size_t part = c.count == 0 ? 0 : i / c.count;
  switch (c.kind) {
    case Kind::all_reduce:
    case Kind::reduce: return reduced(ranks, i, c.reduction, c.type);
    case Kind::reduce_scatter: return reduced(ranks, static_cast<std::size_t>(rank) * c.count + i, c.reduction, c.type);
    case Kind::broadcast: return element(c.root, i, c.reduction, c.type);
    case Kind::all_gather: return element(static_cast<int>(part), i - part * c.count, c.reduction, c.type);
    case Kind::all_to_all:
      return element(static_cast<int>(part), static_cast<std::size_t>(rank) * c.count + i - part * c.count, c.reduction,
                     c.type);
    default: return element((rank + ranks - 1) % ranks, i, c.reduction, c.type);  // a ring of sends
  }
}

// Compares one part of what a rank has received, which begins with element `first`.
void check_part(const Case& c, int ranks, int rank, std::size_t first, std::span<const std::byte> found) {
  const std::size_t size = weir::size_of(c.type), length = std::min(c.count, period);
  Bytes wanted(length * size);
  for (std::size_t i = 0; i < length; ++i) encode(c.type, &wanted[i * size], expected(c, ranks, rank, first + i));
  for (std::size_t begin = 0; begin < c.count; begin += length) {
    const std::size_t here = std::min(length, c.count - begin);
    if (std::memcmp(&found[begin * size], wanted.data(), here * size) == 0) continue;
    for (std::size_t i = 0; i < here; ++i) {
      const double is = decode(c.type, &found[(begin + i) * size]), should = decode(c.type, &wanted[i * size]);
      // Quotients may be rounded twice.
      const double tolerance = c.reduction == Reduction::avg && is_floating(c.type) ? std::abs(should) * 0.01 : 0;
      if (!(std::abs(is - should) <= tolerance)) {
        fail(describe(c) + ": rank " + std::to_string(rank) + " element " + std::to_string(first + begin + i) + " is " +
             std::to_string(is) + " instead of " + std::to_string(should));
      }
    }
  }
}

// What one rank's operations use. Large memory is kept from one to the next, since new pages cost more than the work; small
// memory is new, so that a sanitizer sees what lies outside of it.
struct Memory {
  weir::AllocationPtr receive, send;
  std::byte *to = nullptr, *from = nullptr;
  Bytes data, found;
};

void make_room(weir::AllocationPtr& memory, weir::Device& device, std::size_t bytes) {
  constexpr std::size_t large = std::size_t{1} << 20U;
  if (!memory || bytes < large || memory->size_bytes() < bytes) {
    memory.reset();
    memory = device.allocate_bytes(std::max<std::size_t>(1, bytes));
  }
}

void run(Ranks& ranks, std::vector<Memory>& memory, const Case& c) {
  const auto n = static_cast<std::size_t>(ranks.size);
  const std::size_t size = weir::size_of(c.type);
  const std::size_t sent = c.kind == Kind::reduce_scatter || c.kind == Kind::all_to_all ? n * c.count : c.count;
  const std::size_t received = c.kind == Kind::all_gather || c.kind == Kind::all_to_all ? n * c.count : c.count;
  for (std::size_t r = 0; r < memory.size(); ++r) {
    const Rank& rank = ranks.mine[r];
    Memory& m = memory[r];
    make_room(m.receive, rank.device(), received * size);
    make_room(m.send, rank.device(), sent * size);
    m.to = static_cast<std::byte*>(m.receive->data());
    m.from = static_cast<std::byte*>(m.send->data());
    const auto offset = static_cast<std::size_t>(rank.number()) * c.count * size;
    if (c.in_place && c.kind == Kind::all_gather)
      m.from = m.to + offset;
    else if (c.in_place && c.kind == Kind::reduce_scatter)
      m.to = m.from + offset;
    else if (c.in_place)
      m.to = m.from;
    fill_sent(m.data, rank.number(), sent, c.reduction, c.type);
    if (!c.in_place) weir::detail::fill_elements(*rank.stream, m.to, 0x55, 1, received * size);
    if (sent != 0) rank.stream->copy_bytes(m.from, m.data.data(), sent * size);
  }
  weir::Communicator::group([&] {
    for (std::size_t r = 0; r < memory.size(); ++r) {
      const Rank& rank = ranks.mine[r];
      weir::Communicator& comm = *rank.communicator;
      weir::Stream& stream = *rank.stream;
      Memory& m = memory[r];
      switch (c.kind) {
        case Kind::all_reduce: comm.all_reduce_raw({m.from, m.to, c.count, c.type}, c.reduction, stream); break;
        case Kind::reduce: comm.reduce_raw({m.from, m.to, c.count, c.type}, c.reduction, c.root, stream); break;
        case Kind::reduce_scatter: comm.reduce_scatter_raw({m.from, m.to, c.count, c.type}, c.reduction, stream); break;
        case Kind::broadcast: comm.broadcast_raw({m.from, m.to, c.count, c.type}, c.root, stream); break;
        case Kind::all_gather: comm.all_gather_raw({m.from, m.to, c.count, c.type}, stream); break;
        case Kind::all_to_all: comm.all_to_all_raw({m.from, m.to, c.count, c.type}, stream); break;
        default:
          comm.send_raw(m.from, c.count, c.type, (rank.number() + 1) % ranks.size, stream);
          comm.receive_raw(m.to, c.count, c.type, (rank.number() + ranks.size - 1) % ranks.size, stream);
      }
    }
  });
  for (std::size_t r = 0; r < memory.size(); ++r) {
    const Rank& rank = ranks.mine[r];
    Bytes& found = memory[r].found;
    found.resize(received * size);
    weir::detail::read_bytes(*rank.stream, found.data(), memory[r].to, found.size());
    rank.communicator->check();
    if (c.kind == Kind::reduce && rank.number() != c.root) continue;
    for (std::size_t part = 0; part * c.count < received; ++part) {
      check_part(c, ranks.size, rank.number(), part * c.count,
                 std::span(found).subspan(part * c.count * size, c.count * size));
    }
  }
}

constexpr ElementType all_types[] = {ElementType::int8,    ElementType::uint8,  ElementType::int32,   ElementType::uint32,
                                     ElementType::int64,   ElementType::uint64, ElementType::float16, ElementType::bfloat16,
                                     ElementType::float32, ElementType::float64};
constexpr Reduction all_reductions[] = {Reduction::sum, Reduction::prod, Reduction::min, Reduction::max, Reduction::avg};
constexpr Kind all_kinds[] = {Kind::all_reduce, Kind::reduce, Kind::reduce_scatter, Kind::broadcast, Kind::all_gather,
                              Kind::all_to_all, Kind::send};

}  // namespace

long check_operations(Ranks& ranks, bool full) {
  weir::Communicator& first = *ranks.mine.front().communicator;
  std::vector<Memory> memory(ranks.mine.size());
  long checks = 0;
  const auto run_all_of = [&](ElementType type, std::size_t count, std::span<const Reduction> reductions, bool in_place) {
    for (const Kind kind : all_kinds) {
      const bool reduces = kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
      const bool rooted = kind == Kind::reduce || kind == Kind::broadcast;
      if (in_place && (kind == Kind::all_to_all || kind == Kind::send)) continue;
      for (const Reduction reduction : reduces ? reductions : reductions.first(1)) {
        if (reduction == Reduction::avg && !first.supports(CommunicatorFeature::avg)) continue;
        if (type == ElementType::bfloat16 && reduces && !first.supports(CommunicatorFeature::bfloat16)) continue;
        run(ranks, memory, {kind, type, reduction, count, in_place, rooted ? static_cast<int>(checks % ranks.size) : 0});
        ++checks;
      }
    }
  };
  constexpr Reduction sum[] = {Reduction::sum};
  for (const ElementType type : all_types) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
      for (const bool in_place : {false, true}) run_all_of(type, count, all_reductions, in_place);
    }
  }
  for (const ElementType type : all_types) {  // several blocks of whatever size the libraries work with
    for (const bool in_place : {false, true}) run_all_of(type, 40001, sum, in_place);
  }
  // Larger ones: up to 64 MiB in all of one rank's memory.
  const auto n = static_cast<std::size_t>(ranks.size);
  for (const std::size_t bytes : {std::size_t{1} << 20U, std::size_t{1} << 24U, std::size_t{1} << 26U}) {
    for (const ElementType type : all_types) {
      if (!full && (type != ElementType::float32 || bytes > std::size_t{1} << 24U)) continue;
      run_all_of(type, bytes / weir::size_of(type) / n, full ? std::span<const Reduction>(all_reductions) : sum, false);
    }
  }
  if (!full) run(ranks, memory, {Kind::all_reduce, ElementType::float32, Reduction::sum, std::size_t{1} << 24U, true, 0});
  return checks;
}

}  // namespace collectives_test
