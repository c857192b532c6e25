// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A random program that changes cells of memory: its operations, their streams, and the operations that each one must come
/// after. The program determines the final contents of all cells. The code that runs it chooses how to order the operations.
namespace stress {

/// One operation. `a` and `b` are cells.
struct Step {
  enum class Kind : std::uint8_t {
    multiply_add_on_host,    ///< a = a * value + b, in a host function
    multiply_add_in_kernel,  ///< the same, in a kernel
    copy,                    ///< a = b
    copy_through_scratch,    ///< the same, through stream-ordered memory
    fill,                    ///< a = value
    write,                   ///< the same, as a memory operation
    write_two,               ///< a = value, b = ~value, as one batch
  };
  static constexpr int kinds = 7;

  Kind kind;
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t value;

  bool writes_b() const noexcept { return kind == Kind::write_two; }
  bool reads_a() const noexcept { return kind == Kind::multiply_add_on_host || kind == Kind::multiply_add_in_kernel; }
  bool reads_b() const noexcept { return reads_a() || kind == Kind::copy || kind == Kind::copy_through_scratch; }
  void apply(std::vector<std::uint32_t>& cells) const;
};

/// The ways to make one stream come after another.
enum class Order : std::uint8_t { event, wait_stream, flag, host };

/// The ways to drop a stream that has work.
enum class Way : std::uint32_t { closed, capturing, capturing_with_memory };

/// One action of a thread with one of its streams. Streams are numbered by slots.
struct Item {
  enum class Kind : std::uint8_t {
    step,        ///< do `step`
    raise_flag,  ///< write number `number` to the slot's flag
    await_flag,  ///< wait for number `number` on the flag of slot `other`
    follow,      ///< come after all work of slot `other`, of the same thread, by `order`
    synchronize, ///< the host waits
    replace,     ///< drop the stream with its work, in way `number`, and continue with a new one after it
    graph,       ///< capture `body`, with forks to slots of the same thread, and launch it `number` times
  };
  Kind kind;
  std::uint32_t slot;
  std::uint32_t other = 0;
  std::uint32_t number = 0;
  Order order = Order::event;
  Step step{};
  std::vector<Item> body{};  ///< steps and follows
};

struct Shape {
  std::uint32_t threads = 3;
  std::uint32_t slots = 8;   ///< number of streams; slot s belongs to thread s % threads
  std::uint32_t cells = 24;
  std::uint32_t items = 400;
  bool graphs = true;
  bool kernels = true;
  bool memory_operations = true;
  bool allocations = true;
  /// Whether threads may enqueue waits before the operations that end them. If streams share a hardware queue, such streams
  /// could wait for each other forever.
  bool early_waits = true;
};

struct Program {
  std::uint64_t seed = 0;
  Shape shape;
  std::vector<Item> items;           ///< in an order in which one thread could run all of them
  std::vector<std::uint32_t> start;  ///< initial values of the cells
};

/// Returns the program for a seed. It is always the same for the same shape.
Program make_program(const Shape& shape, std::uint64_t seed);
/// Returns the final values of the cells, computed sequentially.
std::vector<std::uint32_t> expected_cells(const Program& program);
/// Runs the program on the default device and returns the cells. An error ends the process through `fail`.
std::vector<std::uint32_t> run_program(const Program& program);

/// Prints the seed that reproduces the failure, and ends the process.
[[noreturn]] void fail(std::uint64_t seed, const std::string& what);

}  // namespace stress
