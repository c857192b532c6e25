// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <set>

#include "support.hpp"

/// Pools of streams.
namespace conformance::pool_cases {

TEST_SUITE_BEGIN("pool");

TEST_CASE("S10 pool: makes its streams when they are first needed, with the options it was given") {
  StreamPool pool(device(), {.max_streams = 3, .stream = {.blocking = true, .priority = weir::Priority::high}});
  CHECK(&pool.device() == &device());
  CHECK(pool.size() == 0);
  const StreamLease a = pool.lease();
  CHECK(pool.size() == 1);
  const StreamLease b = pool.lease();
  CHECK(pool.size() == 2);
  CHECK_FALSE(a->is_non_blocking());
  CHECK(b->priority() == device().priority_range().greatest);
  CHECK(&(*a).device() == &device());
  CHECK(a.stream().get() == &*a);
  CHECK_WORKS(*a);
}

TEST_CASE("S10 pool: leases are exclusive, and the pool is exhausted when all are out") {
  StreamPool pool(device(), {.max_streams = 4});
  std::vector<StreamLease> leases;
  for (int i = 0; i < 4; ++i) leases.push_back(pool.lease());
  for (std::size_t i = 0; i < leases.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(*leases[i] != *leases[j]);
  }
  CHECK_REFUSED(Errc::pool_exhausted, pool.lease());
  CHECK_FALSE(pool.try_lease().has_value());
  leases.pop_back();
  const std::optional<StreamLease> again = pool.try_lease();
  REQUIRE(again.has_value());
  CHECK_WORKS(**again);
  CHECK(pool.size() == 4);
}

TEST_CASE("S10 pool: a stream that was given back is used again rather than a new one made") {
  StreamPool pool(device(), {.max_streams = 8});
  for (int i = 0; i < 20; ++i) CHECK_WORKS(*pool.lease());
  CHECK(pool.size() == 1);
}

TEST_CASE("S10 pool: a lease is movable, and one that was moved from gives nothing back") {
  StreamPool pool(device(), {.max_streams = 2});
  StreamLease a = pool.lease();
  const Stream* const first = &*a;
  StreamLease b = std::move(a);
  CHECK(&*b == first);
  StreamLease c = pool.lease();
  CHECK(&*c != first);
  c = std::move(b);  // gives back what c held
  CHECK(&*c == first);
  const StreamLease d = pool.lease();
  CHECK(*d != *c);
  CHECK_REFUSED(Errc::pool_exhausted, pool.lease());
}

TEST_CASE("S10 pool: a lease may outlive the pool") {
  std::optional<StreamLease> lease;
  {
    StreamPool pool(device(), {.max_streams = 1});
    lease.emplace(pool.lease());
  }
  CHECK_WORKS(**lease);
  lease.reset();
}

TEST_CASE("S10 pool: round-robin sharing is a mode that one asks for") {
  StreamPool pool(device(), {.max_streams = 3, .sharing = PoolSharing::round_robin});
  std::vector<StreamLease> leases;
  for (int i = 0; i < 7; ++i) leases.push_back(pool.lease());
  CHECK(pool.size() == 3);
  for (std::size_t i = 0; i + 3 < leases.size(); ++i) {
    CHECK(*leases[i] == *leases[i + 3]);
    CHECK(*leases[i] != *leases[i + 1]);
    CHECK(*leases[i] != *leases[i + 2]);
  }
}

TEST_CASE("S10 pool: a stream that comes back with work goes on with it, and the next lease's work runs behind") {
  StreamPool pool(device(), {.max_streams = 1});
  {
    const StreamLease probe = pool.lease();
    if (!needs_gate(*probe)) return;
  }
  Board board;
  Gate gate;
  {
    const StreamLease first = pool.lease();
    gate.hold(*first);
    board.set(*first, 0, 2);
  }
  const StreamLease second = pool.lease();
  board.move(*second, 1, 0);
  board.show(*second, 1);
  check_held_until(*second, board, 1, 2, [&] { gate.open(); });
}

TEST_CASE("S10 S31 pool: a stream that comes back capturing is skipped until its capture has ended") {
  for (const PoolSharing sharing : {PoolSharing::exclusive, PoolSharing::round_robin}) {
    StreamPool pool(device(), {.max_streams = 2, .sharing = sharing});
    StreamPtr capturing;
    {
      const StreamLease lease = pool.lease();
      if (!needs(*lease, {Feature::graph_capture}, [&] { lease->begin_capture(); })) return;
      capturing = lease.stream();
      capturing->begin_capture();
    }
    for (int i = 0; i < 3; ++i) {
      const StreamLease other = pool.lease();
      CHECK(*other != *capturing);
      CHECK_FALSE(other->is_capturing());
    }
    if (sharing == PoolSharing::exclusive) {
      const StreamLease only = pool.lease();
      CHECK_FALSE(pool.try_lease().has_value());
      CHECK_REFUSED(Errc::pool_exhausted, pool.lease());
    }
    (void)capturing->end_capture();
    std::vector<StreamLease> both;
    both.push_back(pool.lease());
    both.push_back(pool.lease());
    CHECK(*both[0] != *both[1]);
    CHECK((*both[0] == *capturing || *both[1] == *capturing));
  }
}

TEST_CASE("S9 S10 pool: a stream that its last user closed is not leased again") {
  StreamPool pool(device(), {.max_streams = 1});
  pool.lease()->close();
  const StreamLease next = pool.lease();
  CHECK_FALSE(next->is_closed());
  CHECK_WORKS(*next);
}

TEST_CASE("S10 S27 pool: any thread leases and gives back, and no stream is out twice") {
  StreamPool pool(device(), {.max_streams = 4});
  std::mutex mutex;
  std::set<const Stream*> out;
  std::atomic<int> twice{0}, leased{0};
  in_parallel(8, [&](std::size_t) {
    for (int i = 0; i < 100; ++i) {
      const std::optional<StreamLease> lease = pool.try_lease();
      if (!lease) {
        std::this_thread::yield();
        continue;
      }
      ++leased;
      {
        std::lock_guard lock(mutex);
        if (!out.insert(&**lease).second) ++twice;
      }
      (void)(*lease)->is_complete();
      std::lock_guard lock(mutex);
      out.erase(&**lease);
    }
  });
  CHECK(twice == 0);
  CHECK(leased > 0);
  CHECK(pool.size() <= 4);
}

TEST_CASE("S10 pool: a pool of no streams is refused") {
  CHECK_REFUSED(Errc::invalid_argument, StreamPool(device(), {.max_streams = 0}));
}

}  // namespace conformance::pool_cases
