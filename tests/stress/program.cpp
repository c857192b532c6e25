// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <algorithm>
#include <random>

// Creates random programs and computes their results.

namespace stress {

void Step::apply(std::vector<std::uint32_t>& cells) const {
  switch (kind) {
    case Kind::multiply_add_on_host:
    case Kind::multiply_add_in_kernel: cells[a] = cells[a] * value + cells[b]; break;
    case Kind::copy:
    case Kind::copy_through_scratch: cells[a] = cells[b]; break;
    case Kind::fill:
    case Kind::write: cells[a] = value; break;
    case Kind::write_two:
      cells[a] = value;
      cells[b] = ~value;
      break;
  }
}

namespace {

/// Writes items, and keeps count of which slot is known to come after how much of which other.
class Writer {
 public:
  Writer(const Shape& shape, std::uint64_t seed)
      : shape_(shape),
        random_(seed),
        known_(shape.slots, std::vector<std::uint64_t>(shape.slots, 0)),
        position_(shape.slots, 0),
        flag_(shape.slots, 0),
        written_(shape.cells),
        read_(shape.cells, std::vector<std::uint64_t>(shape.slots, 0)) {}

  Program write() {
    Program program;
    program.shape = shape_;
    for (std::uint32_t i = 0; i < shape_.cells; ++i) program.start.push_back(static_cast<std::uint32_t>(random_()));
    while (items_.size() < shape_.items) {
      const std::uint32_t slot = below(shape_.slots);
      const std::uint32_t what = below(100);
      if (what < 4) {
        items_.push_back({.kind = Item::Kind::synchronize, .slot = slot});
      } else if (what < 7) {
        items_.push_back({.kind = Item::Kind::replace, .slot = slot, .number = static_cast<std::uint32_t>(random_way())});
      } else if (what < 12 && shape_.graphs) {
        add_graph(slot);
      } else {
        const Step step = random_step();
        order(slot, step);
        items_.push_back({.kind = Item::Kind::step, .slot = slot, .step = step});
        note(slot, step);
      }
    }
    program.items = std::move(items_);
    return program;
  }

 private:
  struct Place {
    std::uint32_t slot = 0;
    std::uint64_t position = 0;  // 0: nowhere
  };

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  Way random_way() {
    const auto way = static_cast<Way>(below(3));
    if (!shape_.graphs || (way == Way::capturing_with_memory && !shape_.allocations)) return Way::closed;
    return way;
  }

  Step random_step() {
    for (;;) {
      const auto kind = static_cast<Step::Kind>(below(Step::kinds));
      if (kind == Step::Kind::multiply_add_in_kernel && !shape_.kernels) continue;
      if (kind == Step::Kind::copy_through_scratch && !shape_.allocations) continue;
      if ((kind == Step::Kind::write || kind == Step::Kind::write_two) && !shape_.memory_operations) continue;
      const std::uint32_t a = below(shape_.cells);
      const std::uint32_t b = (a + 1 + below(shape_.cells - 1)) % shape_.cells;
      return {kind, a, b, static_cast<std::uint32_t>(random_())};
    }
  }

  /// Makes `slot` come after everything that `step` must not overtake.
  void order(std::uint32_t slot, const Step& step) {
    const auto after = [&](Place place) {
      if (place.position != 0 && place.slot != slot && known_[slot][place.slot] < place.position) follow(slot, place.slot);
    };
    after(written_[step.a]);
    after(written_[step.b]);
    for (const std::uint32_t cell : {step.a, step.b}) {
      if (cell == step.b && !step.writes_b()) continue;
      for (std::uint32_t other = 0; other < shape_.slots; ++other) after({other, read_[cell][other]});
    }
  }

  void follow(std::uint32_t slot, std::uint32_t other) {
    const bool same_thread = slot % shape_.threads == other % shape_.threads;
    auto means = static_cast<Order>(below(4));
    if (!same_thread) means = Order::flag;
    if (means == Order::flag && !shape_.memory_operations) means = Order::event;
    if (means == Order::flag) {
      ++flag_[other];
      items_.push_back({.kind = Item::Kind::raise_flag, .slot = other, .number = flag_[other]});
      items_.push_back({.kind = Item::Kind::await_flag, .slot = slot, .other = other, .number = flag_[other]});
    } else {
      items_.push_back({.kind = Item::Kind::follow, .slot = slot, .other = other, .order = means});
    }
    for (std::uint32_t i = 0; i < shape_.slots; ++i) known_[slot][i] = std::max(known_[slot][i], known_[other][i]);
    known_[slot][other] = position_[other];
  }

  void note(std::uint32_t slot, const Step& step) {
    const std::uint64_t now = ++position_[slot];
    if (step.reads_b()) read_[step.b][slot] = now;
    if (step.reads_a()) read_[step.a][slot] = now;
    written_[step.a] = {slot, now};
    if (step.writes_b()) written_[step.b] = {slot, now};
  }

  /// A capture on `slot`. Its work may be spread over other slots of the thread, each of which joins before the next starts,
  /// so that within the graph order is that of the list.
  void add_graph(std::uint32_t slot) {
    Item graph{.kind = Item::Kind::graph, .slot = slot, .number = 1 + below(3)};
    std::vector<std::uint32_t> siblings;
    for (std::uint32_t s = slot % shape_.threads; s < shape_.slots; s += shape_.threads) siblings.push_back(s);
    std::uint32_t at = slot;
    for (std::uint32_t n = 1 + below(8); n > 0; --n) {
      const Step step = random_step();
      order(slot, step);
      if (const std::uint32_t next = siblings[below(static_cast<std::uint32_t>(siblings.size()))];
          next != at && below(3) == 0) {
        graph.body.push_back({.kind = Item::Kind::follow,
                              .slot = next,
                              .other = at,
                              .order = below(2) == 0 ? Order::event : Order::wait_stream});
        at = next;
      }
      graph.body.push_back({.kind = Item::Kind::step, .slot = at, .step = step});
    }
    if (at != slot)
      graph.body.push_back({.kind = Item::Kind::follow, .slot = slot, .other = at, .order = Order::wait_stream});
    for (const Item& item : graph.body) {
      if (item.kind == Item::Kind::step) note(slot, item.step);
    }
    items_.push_back(std::move(graph));
  }

  const Shape shape_;
  std::mt19937_64 random_;
  std::vector<Item> items_;
  std::vector<std::vector<std::uint64_t>> known_;  // [slot][other]: the position of `other` that `slot` comes after
  std::vector<std::uint64_t> position_;            // how many steps each slot has
  std::vector<std::uint32_t> flag_;
  std::vector<Place> written_;
  std::vector<std::vector<std::uint64_t>> read_;   // [cell][slot]
};

void apply(const std::vector<Item>& items, std::vector<std::uint32_t>& cells) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::step) item.step.apply(cells);
    if (item.kind == Item::Kind::graph) {
      for (std::uint32_t n = 0; n < item.number; ++n) apply(item.body, cells);
    }
  }
}

}  // namespace

Program make_program(const Shape& shape, std::uint64_t seed) {
  Program program = Writer(shape, seed).write();
  program.seed = seed;
  return program;
}

std::vector<std::uint32_t> expected_cells(const Program& program) {
  std::vector<std::uint32_t> cells = program.start;
  apply(program.items, cells);
  return cells;
}

}  // namespace stress
