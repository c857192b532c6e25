// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Attributes of streams: those that can be changed after creation, and those that cannot.
namespace conformance::attributes_cases {

TEST_SUITE_BEGIN("attributes");

bool needs_policy(Stream& s) {
  return needs(s, {Feature::synchronization_policy}, [&] { s.set_synchronization_policy(SynchronizationPolicy::block); });
}

CASE(OneStream, "S15 synchronization policy: automatic at first; each reads back, and the stream is waited for in each") {
  if (!needs_policy(*s)) {
    CHECK_REFUSED(Errc::unsupported, s->synchronization_policy());
    CHECK_REFUSED(Errc::unsupported, s->copy_attributes(*device().create_stream()));
    return;
  }
  CHECK(s->synchronization_policy() == SynchronizationPolicy::automatic);
  for (const auto policy : {SynchronizationPolicy::spin, SynchronizationPolicy::yield, SynchronizationPolicy::block,
                            SynchronizationPolicy::automatic}) {
    s->set_synchronization_policy(policy);
    CHECK(s->synchronization_policy() == policy);
    CHECK_WORKS(*s);
  }
}

CASE(TwoStreams, "S15 synchronization policy: of one stream is not that of another") {
  if (!needs_policy(*a)) return;
  a->set_synchronization_policy(SynchronizationPolicy::block);
  CHECK(b->synchronization_policy() == SynchronizationPolicy::automatic);
  CHECK(device().create_stream()->synchronization_policy() == SynchronizationPolicy::automatic);
}

TEST_CASE("S15 copy attributes: what can be set, and never priority or blocking behaviour") {
  const StreamPtr from = device().create_stream({.blocking = true, .priority = weir::Priority::high});
  const StreamPtr to = device().create_stream();
  if (!needs_policy(*from)) return;
  from->set_synchronization_policy(SynchronizationPolicy::yield);
  const int priority = to->priority();
  to->copy_attributes(*from);
  CHECK(to->synchronization_policy() == SynchronizationPolicy::yield);
  CHECK(to->is_non_blocking());
  CHECK(to->priority() == priority);
  to->copy_attributes(*to);
  CHECK(to->synchronization_policy() == SynchronizationPolicy::yield);
  CHECK_WORKS(*to);
}

CASE(OneStream, "S15 access policy window: reads back, is copied, and can be taken away") {
  const auto memory = device().allocate<std::byte>(1U << 16U);
  const AccessPolicyWindow window{.base = memory.data(),
                                  .size_bytes = memory.size_bytes(),
                                  .hit_ratio = 0.5F,
                                  .hit = AccessProperty::persisting,
                                  .miss = AccessProperty::streaming};
  if (!needs(*s, {Feature::access_policy_window}, [&] { s->set_access_policy_window(window); })) {
    CHECK_REFUSED(Errc::unsupported, s->access_policy_window());
    return;
  }
  s->set_access_policy_window(window);
  const auto same = [&](const AccessPolicyWindow& w) {
    return w.base == window.base && w.size_bytes == window.size_bytes && w.hit_ratio == window.hit_ratio &&
           w.hit == window.hit && w.miss == window.miss;
  };
  CHECK(same(s->access_policy_window()));
  s->fill(memory, std::byte{1});
  CHECK_WORKS(*s);
  if (device().supports(Feature::synchronization_policy)) {
    const StreamPtr other = device().create_stream();
    other->copy_attributes(*s);
    CHECK(same(other->access_policy_window()));
  }
  for (const float ratio : {-0.1F, 1.1F, std::numeric_limits<float>::quiet_NaN()}) {
    AccessPolicyWindow wrong = window;
    wrong.hit_ratio = ratio;
    CHECK_REFUSED(Errc::invalid_argument, s->set_access_policy_window(wrong));
  }
  CHECK(same(s->access_policy_window()));
  s->set_access_policy_window({});
  CHECK(s->access_policy_window().size_bytes == 0);
}

}  // namespace conformance::attributes_cases
