// SPDX-License-Identifier: Apache-2.0
#include "weir/ptr.hpp"

#include <doctest/doctest.h>

#include <map>
#include <thread>
#include <unordered_set>
#include <vector>

// Tests Ptr, the pointer to reference-counted objects.

using weir::make_ptr;
using weir::Ptr;

namespace {

int alive = 0;

class Object : public weir::RefCounted {
 public:
  explicit Object(int v = 0) : value(v) { ++alive; }
  int value;

 protected:
  ~Object() override { --alive; }
};

class Derived final : public Object {
 public:
  using Object::Object;
};

// Ends by going back to where it came from.
class Pooled final : public weir::RefCounted {
 public:
  explicit Pooled(std::vector<Pooled*>& pool) : pool_(pool) {}
  ~Pooled() override = default;

 private:
  void dispose() noexcept override { pool_.push_back(this); }
  std::vector<Pooled*>& pool_;
};

}  // namespace

TEST_CASE("ptr: the object lives as long as it has an owner") {
  {
    Ptr<Object> a = make_ptr<Object>(5);
    CHECK(alive == 1);
    CHECK(a->value == 5);
    CHECK(a->use_count() == 1);
    Ptr<Object> b = a;
    CHECK(a->use_count() == 2);
    Ptr<Object> c = std::move(b);
    CHECK_FALSE(static_cast<bool>(b));
    CHECK(a->use_count() == 2);
    a.reset();
    CHECK(alive == 1);
    CHECK(c->use_count() == 1);
  }
  CHECK(alive == 0);
}

TEST_CASE("ptr: assignment, also to itself, and swap") {
  Ptr<Object> a = make_ptr<Object>(1), b = make_ptr<Object>(2);
  a = b;
  CHECK(alive == 1);
  CHECK(a == b);
  Ptr<Object>& self = a;
  a = self;
  CHECK(a->use_count() == 2);
  a = std::move(self);
  CHECK(a->value == 2);
  a = nullptr;
  CHECK(a == nullptr);
  a.swap(b);
  CHECK(a->value == 2);
  CHECK(b == nullptr);
  a.reset();
  CHECK(alive == 0);
}

TEST_CASE("ptr: to a base, compared by address, hashed") {
  Ptr<Derived> derived = make_ptr<Derived>(3);
  Ptr<Object> base = derived;
  CHECK(base == derived);
  CHECK(derived->use_count() == 2);
  Ptr<Object> moved = std::move(derived);
  CHECK(derived == nullptr);
  CHECK(moved->use_count() == 2);
  Ptr<Object> other = make_ptr<Object>();
  CHECK(other != base);
  const std::unordered_set<Ptr<Object>> set = {base, moved, other};
  CHECK(set.size() == 2);
}

TEST_CASE("ptr: detach and attach hand the reference over") {
  Ptr<Object> a = make_ptr<Object>();
  Object* const raw = a.detach();
  CHECK(a == nullptr);
  CHECK(raw->use_count() == 1);
  Ptr<Object> b = Ptr<Object>::attach(raw);
  CHECK(b->use_count() == 1);
  b.reset();
  CHECK(alive == 0);
}

TEST_CASE("ptr: an object may define its own disposal") {
  std::vector<Pooled*> pool;
  pool.reserve(1);
  Ptr<Pooled> p = make_ptr<Pooled>(pool);
  Pooled* const object = p.get();
  for (int i = 0; i < 3; ++i) {
    p.reset();
    REQUIRE(pool.size() == 1);
    CHECK(pool[0] == object);
    pool.clear();
    p = Ptr<Pooled>(object);
  }
  p.reset();
  delete object;
}

TEST_CASE("ptr: counts from many threads") {
  Ptr<Object> shared = make_ptr<Object>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&shared] {
      for (int i = 0; i < 20000; ++i) {
        const Ptr<Object> copy = shared;
        const Ptr<Object> another = copy;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(shared->use_count() == 1);
  shared.reset();
  CHECK(alive == 0);
}

TEST_CASE("ptr: compares as std::shared_ptr does") {
  const Ptr<Derived> derived = make_ptr<Derived>(1);
  const Ptr<Object> base = derived, other = make_ptr<Object>(2), none;
  CHECK((derived <=> base) == std::strong_ordering::equal);
  CHECK((derived <=> other) == (derived.get() < other.get() ? std::strong_ordering::less : std::strong_ordering::greater));
  CHECK((base < other) == (base.get() < other.get()));
  CHECK(none == nullptr);
  CHECK(nullptr == none);
  CHECK(base != nullptr);
  CHECK(base > nullptr);
  CHECK(nullptr < base);
  CHECK(none <= nullptr);
  CHECK(std::hash<Ptr<Object>>{}(base) == std::hash<Ptr<Derived>>{}(derived));
  CHECK(std::hash<Ptr<Object>>{}(none) == std::hash<Ptr<Object>>{}(nullptr));
  std::map<Ptr<Object>, int> map = {{base, 1}, {other, 2}, {none, 3}};
  CHECK(map.size() == 3);
  CHECK(map[derived] == 1);
}
