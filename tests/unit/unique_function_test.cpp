// SPDX-License-Identifier: Apache-2.0
#include "weir/unique_function.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

// Tests UniqueFunction.

using weir::UniqueFunction;

namespace {

struct Pair {
  int first = 1, second = 2;
};

int twice(int x) { return 2 * x; }

// Counts how many of it there are, so that none is lost and none ended twice.
struct Counted {
  explicit Counted(int& n) : count(&n) { ++*count; }
  Counted(const Counted& o) : count(o.count) { ++*count; }
  Counted(Counted&& o) noexcept : count(o.count) { ++*count; }
  ~Counted() { --*count; }
  int* count;
};

template <std::size_t Padding>
struct Callable : Counted {
  using Counted::Counted;
  int operator()() { return *count; }
  std::array<char, Padding> padding{};
};
using Small = Callable<8>;
using Large = Callable<200>;

struct ThrowingMove {
  ThrowingMove() = default;
  ThrowingMove(const ThrowingMove&) {}
  ThrowingMove(ThrowingMove&&) noexcept(false) {}
  int operator()() const { return 7; }
};

struct alignas(128) Aligned {
  bool operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 128 == 0; }
};

template <class F>
void lives_once() {
  int n = 0;
  {
    UniqueFunction<int()> a{F(n)};
    CHECK(n == 1);
    CHECK(a() == 1);
    UniqueFunction<int()> b(std::move(a));
    CHECK(n == 1);
    CHECK_FALSE(static_cast<bool>(a));
    CHECK(b() == 1);
    a = std::move(b);
    CHECK(n == 1);
    UniqueFunction<int()>& self = a;
    a = std::move(self);
    CHECK(n == 1);
    CHECK(a() == 1);
    a = UniqueFunction<int()>(F(n));  // the one it had is ended
    CHECK(n == 1);
    a.reset();
    CHECK(n == 0);
    a.reset();
    CHECK(n == 0);
    b = UniqueFunction<int()>(F(n));
  }
  CHECK(n == 0);
}

}  // namespace

TEST_CASE("unique function: calls functions, lambdas and objects, with arguments and results") {
  CHECK(UniqueFunction<int(int)>(twice)(21) == 42);
  CHECK(UniqueFunction<int(int)>([](int x) { return x + 1; })(1) == 2);
  CHECK(UniqueFunction<long(int)>(twice)(2) == 4L);  // the result is converted
  int seen = 0;
  UniqueFunction<void(int&, std::unique_ptr<int>)> moved([](int& out, std::unique_ptr<int> in) { out = *in; });
  moved(seen, std::make_unique<int>(5));
  CHECK(seen == 5);
  UniqueFunction<void()> dropped([&seen] { return ++seen; });  // a result that nobody wants
  dropped();
  CHECK(seen == 6);
  Pair pair;
  CHECK(UniqueFunction<int(Pair&)>(&Pair::second)(pair) == 2);
}

TEST_CASE("unique function: each callable lives exactly once, kept in place or not") {
  static_assert(sizeof(Small) <= UniqueFunction<int()>::inline_size);
  static_assert(sizeof(Large) > UniqueFunction<int()>::inline_size);
  lives_once<Small>();
  lives_once<Large>();
}

TEST_CASE("unique function: callables with a throwing move or a large alignment are kept on the heap") {
  UniqueFunction<int()> f{ThrowingMove()};
  static_assert(std::is_nothrow_move_constructible_v<UniqueFunction<int()>>);
  UniqueFunction<int()> g(std::move(f));
  CHECK(g() == 7);
  UniqueFunction<bool()> a{Aligned()};
  UniqueFunction<bool()> b(std::move(a));
  CHECK(b());
}

TEST_CASE("unique function: an exception passes through, and the function can be called again") {
  int calls = 0;
  UniqueFunction<void()> f([&] {
    if (++calls == 1) throw std::runtime_error("first");
  });
  CHECK_THROWS_AS(f(), std::runtime_error);
  f();
  CHECK(calls == 2);
}

TEST_CASE("unique function: made of nothing, or of an empty function, it is empty") {
  CHECK_FALSE(static_cast<bool>(UniqueFunction<void()>()));
  CHECK_FALSE(static_cast<bool>(UniqueFunction<void()>(nullptr)));
  int Pair::*null_member = nullptr;
  CHECK_FALSE(static_cast<bool>(UniqueFunction<int(Pair&)>(null_member)));
  CHECK_FALSE(static_cast<bool>(UniqueFunction<int(int)>(std::function<int(int)>())));
  CHECK(static_cast<bool>(UniqueFunction<int(int)>(std::function<int(int)>(twice))));
  int (*pointer)(int) = nullptr;
  CHECK_FALSE(static_cast<bool>(UniqueFunction<int(int)>(pointer)));
  // A function of another signature is wrapped, and as empty as what it wraps.
  CHECK_FALSE(static_cast<bool>(UniqueFunction<void(int)>(UniqueFunction<int(int)>())));
  UniqueFunction<void(int)> wrapped = UniqueFunction<int(int)>(twice);
  CHECK(static_cast<bool>(wrapped));
  wrapped(3);
  // A callable that converts to bool for reasons of its own is not empty.
  struct Truth {
    bool operator()() const { return true; }
    explicit operator bool() const { return false; }
  };
  CHECK(static_cast<bool>(UniqueFunction<bool()>(Truth())));
}
