// SPDX-License-Identifier: Apache-2.0
#include "core/base/near_match.hpp"

#include <doctest/doctest.h>

#include <array>

// Tests the suggestion of similar names.

using weir::detail::edit_distance;
using weir::detail::nearest_name;

TEST_CASE("near match: distance counts insertions, deletions, substitutions and swaps, whatever the case") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("host", "HOST") == 0);
  CHECK(edit_distance("host", "hots") == 1);
  CHECK(edit_distance("verison", "version") == 1);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("abc", "cba") == 2);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("near match: the nearest name, or none") {
  constexpr std::array<std::string_view, 3> names = {"cuda", "hip", "host"};
  CHECK(nearest_name("cud", names) == "cuda");
  CHECK(nearest_name("HIP", names) == "hip");
  CHECK(nearest_name("hosts", names) == "host");
  CHECK(nearest_name("hots", names) == "host");
  CHECK(nearest_name("nosuch", names) == "");
  CHECK(nearest_name("", names) == "");
  CHECK(nearest_name("x", names) == "");
}
