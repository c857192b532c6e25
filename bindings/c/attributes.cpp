// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/call.hpp"
#include "weir/stream.hpp"

// The C interface: the attributes of streams (weir/c/stream.h).
static_assert(static_cast<unsigned>(weir::SynchronizationPolicy::block) == WEIR_SYNCHRONIZATION_BLOCK);
static_assert(static_cast<unsigned>(weir::AccessProperty::persisting) == WEIR_ACCESS_PERSISTING);

using namespace weir::c;

weir_result weir_stream_get_synchronization_policy(const weir_stream* stream, weir_synchronization_policy* policy) {
  return give(__func__, policy, "policy",
              [&] { return static_cast<weir_synchronization_policy>(required(stream, "stream").synchronization_policy()); });
}

weir_result weir_stream_set_synchronization_policy(weir_stream* stream, weir_synchronization_policy policy) {
  return call(__func__, [&] {
    const auto wanted = enumerator(policy, weir::SynchronizationPolicy::block, "policy");
    required(stream, "stream").set_synchronization_policy(wanted);
  });
}

weir_result weir_stream_get_access_policy_window(const weir_stream* stream, weir_access_policy_window* window) {
  return give(__func__, window, "window", [&] {
    const weir::AccessPolicyWindow set = required(stream, "stream").access_policy_window();
    weir_access_policy_window all{};
    all.base = set.base;
    all.size_bytes = set.size_bytes;
    all.hit_ratio = set.hit_ratio;
    all.hit = static_cast<weir_access_property>(set.hit);
    all.miss = static_cast<weir_access_property>(set.miss);
    return all;
  });
}

weir_result weir_stream_set_access_policy_window(weir_stream* stream, const weir_access_policy_window* window) {
  return call(__func__, [&] {
    const weir_access_policy_window wanted = options(&output(window, "window"), "window");
    weir::Stream& target = required(stream, "stream");
    target.set_access_policy_window({.base = wanted.base,
                                     .size_bytes = wanted.size_bytes,
                                     .hit_ratio = wanted.hit_ratio,
                                     .hit = enumerator(wanted.hit, weir::AccessProperty::persisting, "window->hit"),
                                     .miss = enumerator(wanted.miss, weir::AccessProperty::persisting, "window->miss")});
  });
}

weir_result weir_stream_copy_attributes(weir_stream* stream, const weir_stream* other) {
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    target.copy_attributes(weir::StreamRef(const_cast<weir::Stream&>(required(other, "other"))));
  });
}
