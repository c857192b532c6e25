// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/corpus.hpp"

/// Tests loops over a thread's own data.
namespace weir::test::loops_test {
namespace {

const ModulePtr& module() { return corpus("loops"); }

constexpr int limit = 1000;

int turns(int begin) { return (limit - begin + 63) / 64; }

// What each thread of a block gives for `limit`.
template <class Expected>
void check(const char* name, const Expected& expected) {
  CAPTURE(name);
  const auto out = upload(std::vector<int>(64));
  launch(module()->untyped_kernel(name), {1, 64}, out, limit);
  for (int t = 0; t < 64; ++t) CHECK(out.data()[t] == expected(t));
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("loops: a thread in the middle of its block that has nothing to do") {
  for (const char* name : {"k_own_bound", "k_bound_by_parameter"}) {
    CAPTURE(name);
    const auto out = upload(std::vector<int>(64));
    launch(module()->untyped_kernel(name), {1, 64}, out);
    for (int t = 0; t < 64; ++t) CHECK(out.data()[t] == (t == 5 ? 0 : turns(t)));
  }
}

TEST_CASE("loops: kernels of one name, of which one has a loop or a barrier") {
  const auto numbers = [](const char* name) {
    const auto out = upload(std::vector<int>(64));
    launch(module()->untyped_kernel(name), {1, 64}, out, 64);
    return download(out);
  };
  std::vector<int> rising, falling, turned;
  for (int t = 0; t < 64; ++t) {
    rising.push_back(64 + t);
    falling.push_back(64 - t);
    turned.push_back(63 - t);
  }
  CHECK(numbers("numbered<int>") == std::vector<int>(64, 1));
  CHECK(numbers("numbered<float>") == rising);
  CHECK(numbers("one::same") == falling);
  CHECK(numbers("two::same") == std::vector<int>(64, 2));
  CHECK(numbers("turned<2>") == std::vector<int>(64, 2));
  CHECK(numbers("turned<3>") == turned);
}

TEST_CASE("loops: what a loop began with changes while it runs") {
  const auto out = upload(std::vector<int>(64));
  launch(module()->untyped_kernel("k_moving_start"), {1, 64}, out);
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int i = t; i < 1000; i += 64) sum += i;
    CHECK(out.data()[t] == 3 * sum);
  }
}

TEST_CASE("loops: blocks of a row, one by one or together") {
  constexpr int n = 10007;
  for (const unsigned grid : {1U, 3U, 5U, 37U}) {
    for (const unsigned block : {32U, 256U, 300U, 1024U}) {
      CAPTURE(grid);
      CAPTURE(block);
      std::vector<int> by_row, by_place;
      for (int i = 0; i < n; ++i) {
        by_row.push_back(i + static_cast<int>(block * 3 + grid * 7));
        by_place.push_back(i % static_cast<int>(grid * block) % static_cast<int>(block));
      }
      const auto ran = [&](const char* name) {
        const auto out = upload(std::vector<int>(n));
        launch(module()->untyped_kernel(name), {.grid = {grid}, .block = {block}}, out, n);
        return download(out);
      };
      CHECK(ran("k_by_row") == by_row);
      for (const char* name : {"k_by_place", "k_by_function", "k_by_group"}) CHECK(ran(name) == by_place);
    }
  }
}

TEST_CASE("loops: over what a thread owns, in the words of different people") {
  constexpr int n = 10007;
  std::vector<int> expected;
  for (int i = 0; i < n; ++i) expected.push_back(i * 3 + 1);
  for (const char* name : {"k_form_while", "k_form_empty_first", "k_form_declared_on_top", "k_form_two_counters",
                           "k_form_base", "k_form_auto", "k_form_rows"}) {
    CAPTURE(name);
    for (const unsigned grid : {1U, 5U, 64U}) {
      for (const unsigned block : {32U, 100U, 1024U}) {
        CAPTURE(grid);
        CAPTURE(block);
        const auto out = upload(std::vector<int>(n));
        launch(module()->untyped_kernel(name), {.grid = {grid}, .block = {block}}, out, n);
        CHECK(download(out) == expected);
      }
    }
  }
}

TEST_CASE("loops: what only looks like one over what a thread owns") {
  const auto sum = [](int t, int step, int factor = 1) {
    int all = 0;
    for (int i = t; i < limit; i += step) all += i * factor;
    return all;
  };
  check("k_ends_where", [](int t) { return turns(t) * 100000 + t + 64 * turns(t); });
  check("k_seen_by_lambda", [&](int t) { return sum(t, 64); });
  check("k_seen_by_pointer", [&](int t) { return sum(t, 64); });
  check("k_step_of_body", [&](int t) { return sum(t, 64 * (1 + t % 2)) + 1; });
  check("k_name_hidden", [&](int t) { return sum(t, 64, 7); });
  check("k_leaves_early", [](int t) {
    int all = 0;
    for (int i = t; i < limit && all <= 1000; i += 64) all += i;
    return all;
  });
  check("k_below_zero", [](int t) {
    int all = 0;
    for (int i = t - 5; i >= 0 && i < limit; i += 64) all += i;
    return all;
  });
}

TEST_CASE("loops: conditions, starts and steps that change, and names that mean several things") {
  const auto sum = [](int first, int most = 1 << 20) {
    int all = 0;
    for (int i = first; i < limit && most-- > 0; i += 64) all += i;
    return all;
  };
  check("k_condition_counts", [&](int t) { return sum(t, 5) - 1; });
  check("k_counts_down", [](int) { return 4 + limit / 2 + 7 - limit; });
  check("k_steps_down", [](int t) { return t / 3 + 1; });
  check("k_name_in_two_scopes", [&](int t) { return t + sum(t * 7 % 64); });
  check("k_start_moves", [&](int t) { return sum(t) + sum(t + 1) + sum(t + 2); });
  check("k_counter_seen", [&](int t) { return sum(t) + 2 * turns(t); });
  check("k_constants_hidden", [&](int t) {
    int all = 7 + 110 * (limit % 9);
    for (int i = t + 3; i < limit; i += 64) all += i;
    return all;
  });
  check("k_step_is_no_whole_number", [](int t) {
    int all = 0;
    for (int i = t - 16; i < limit; i = static_cast<int>(static_cast<float>(i) + 1.5F)) ++all;
    return all;
  });
  check("k_wide_copy_of_counter", [](int t) { return t * (t + 1) / 2; });
  check("k_captured_by_another_name", [&](int t) { return sum(t); });
  check("k_counter_changed_by_object", [](int t) {
    int all = 0;
    for (int i = t; i < limit; i += 64) all += ++i;
    return all;
  });
}

TEST_CASE("loops: elements beside each other that a thread uses by two pointers, in its own order") {
  constexpr int n = 1000;
  for (const char* name : {"k_pairs", "k_pairs_behind_barrier"}) {
    CAPTURE(name);
    const auto numbers = upload(std::vector<int>(2 * n, 2));
    launch(module()->untyped_kernel(name), {.grid = {8}, .block = {128}}, numbers, numbers, numbers, n);
    std::vector<int> expected;
    for (int i = 0; i < n; ++i) expected.insert(expected.end(), {3, 11});
    CHECK(download(numbers) == expected);
  }
}

TEST_CASE("loops: of which all threads take the same turns") {
  constexpr int n = 45;
  std::vector<int> a, b;
  for (int i = 0; i < n * n; ++i) {
    a.push_back(i % 11 - 4);
    b.push_back(i % 7 - 2);
  }
  std::vector<int> product(n * n), around(n * n);
  const auto at = [](const std::vector<int>& values, int y, int x) { return values[static_cast<std::size_t>(y * n + x)]; };
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      const auto cell = static_cast<std::size_t>(y * n + x);
      for (int k = 0; k < n; ++k) product[cell] += at(a, y, k) * at(b, k, x);
      int met = 0;
      for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
          if (y + dy < 0 || y + dy >= n || x + dx < 0 || x + dx >= n) continue;
          around[cell] += at(a, y + dy, x + dx) * (dx + 2 * dy);
          ++met;
        }
        around[cell] += met;
      }
    }
  }
  for (const Dim3 block : {Dim3{16, 16}, Dim3{64, 2}, Dim3{1, 45}, Dim3{7, 3}}) {
    CAPTURE(block.x);
    const LaunchConfig config{.grid = {(n + block.x - 1) / block.x, (n + block.y - 1) / block.y}, .block = block};
    for (const char* name : {"k_plain_product", "k_old_product", "k_product_of_pointers"}) {
      CAPTURE(name);
      const auto out = upload(std::vector<int>(n * n, -1));
      launch(module()->untyped_kernel(name), config, upload(a), upload(b), out, n);
      CHECK(download(out) == product);
    }
    const auto out = upload(std::vector<int>(n * n, -1));
    launch(module()->untyped_kernel("k_around"), config, upload(a), out, n, 2);
    CHECK(download(out) == around);
  }
}

TEST_CASE("loops: between barriers") {
  const std::vector<int> in = random_ints(64 * 64, 5, -9, 9);
  const auto at = [&](int t, int i) { return in[static_cast<std::size_t>(t * 64 + i)]; };
  for (const int n : {0, 1, 2, 45, 64}) {
    CAPTURE(n);
    std::vector<int> expected(64);
    for (int i = 0; i < 64; ++i) {
      int sum = 0, few = 0;
      for (int t = 0; t < 3; ++t) {
        for (int k = 0; k < n; ++k) {
          sum += at(t, k) * (i + 1) - (t < n && k >= t ? at(k, i) : 0);
          few += i < 5 ? at(t, k) : 0;
        }
        for (int k = 0; k < (at(t, t) & 7); ++k) sum += at(t, k + i / 2);
      }
      expected[static_cast<std::size_t>(i)] = sum * 3 + few;
    }
    const auto out = upload(std::vector<int>(64));
    launch(module()->untyped_kernel("k_between_barriers"), {1, 64}, upload(in), out, n);
    CHECK(download(out) == expected);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::loops_test
