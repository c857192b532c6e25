// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Invalid enumerators and empty functions: they are refused before the driver is called, and have no effect.
namespace conformance::enumerators_cases {

TEST_SUITE_BEGIN("enumerators");

CASE(OneStream, "S1 S3 S6 enumerators: of streams") {
  CHECK_REFUSED(Errc::invalid_argument, device().create_stream({.priority = weir::Priority(9)}));
  CHECK_REFUSED(Errc::invalid_argument, device().wrap_stream(s->share_native_handle(), Ownership(7)));
  CHECK_REFUSED(Errc::invalid_argument, weir::StreamPool(device(), {.sharing = weir::PoolSharing(2)}));
  if (device().supports(Feature::synchronization_policy)) {
    CHECK_REFUSED(Errc::invalid_argument, s->set_synchronization_policy(weir::SynchronizationPolicy(4)));
  }
  if (device().supports(Feature::access_policy_window)) {
    CHECK_REFUSED(Errc::invalid_argument, s->set_access_policy_window({.hit = weir::AccessProperty(3)}));
    CHECK_REFUSED(Errc::invalid_argument, s->set_access_policy_window({.miss = weir::AccessProperty(3)}));
  }
}

CASE(Capture, "S31 enumerators: of captures; none has begun afterwards") {
  CHECK_REFUSED(Errc::invalid_argument, s->begin_capture(CaptureMode(9)));
  CHECK_REFUSED(Errc::invalid_argument, s->capture(CaptureMode(3), [](Stream&) { FAIL("it was called"); }));
  CHECK_FALSE(s->is_capturing());
  if (device().supports(Feature::capture_into_graph)) {
    const GraphPtr graph = s->capture([](Stream&) {});
    CHECK_REFUSED(Errc::invalid_argument, s->resume_capture(graph, CaptureMode(9)));
    CHECK_FALSE(s->is_capturing());
  }
}

CASE(OneStream, "S42 S44 enumerators: of memory") {
  CHECK_REFUSED(Errc::invalid_argument, device().allocate_bytes(64, MemoryKind(9)));
  CHECK_REFUSED(Errc::invalid_argument, device().allocate_bytes(0, MemoryKind(3)));
  if (!needs(device(), {Feature::managed_memory}, [] { (void)device().allocate<int>(1, MemoryKind::managed); })) return;
  const auto memory = device().allocate<int>(100, MemoryKind::managed);
  if (device().supports(Feature::managed_attach)) {
    CHECK_REFUSED(Errc::invalid_argument, s->attach_memory(memory, weir::AttachMode(3)));
  }
  if (device().supports(Feature::managed_prefetch)) {
    CHECK_REFUSED(Errc::invalid_argument, s->prefetch(memory, weir::PrefetchTarget(2)));
  }
}

CASE(OneStream, "S45 S46 enumerators: of memory operations; the stream is not held") {
  Word32 word;
  if (!needs(*s, {Feature::wait_value_32}, [&] { s->wait_value(word.address(), 0, WaitCondition::eq); })) return;
  CHECK_REFUSED(Errc::invalid_argument, s->wait_value(word.address(), 1, WaitCondition(9)));
  CHECK_REFUSED(Errc::invalid_argument, s->wait_value(word.address(), 1, WaitCondition::eq, weir::RemoteWrites(2)));
  if (device().supports(Feature::batch_memory_operations)) {
    MemoryOperation operations[2] = {MemoryOperation::write(word.address(), 1), MemoryOperation::write(word.address(), 2)};
    operations[1].kind = MemoryOperation::Kind(5);
    CHECK_REFUSED(Errc::invalid_argument, s->batch_memory_operations(operations));
    s->synchronize();
    CHECK(word.load() == 0);
  }
}

CASE(Capture, "S31 functions: an empty one is not captured, and no capture begins") {
  void (*const pointer)(Stream&) = nullptr;
  CHECK_REFUSED(Errc::invalid_argument, s->capture(pointer));
  CHECK_REFUSED(Errc::invalid_argument, s->capture(weir::UniqueFunction<void(Stream&)>()));
  CHECK_REFUSED(Errc::invalid_argument, s->capture(CaptureMode::relaxed, std::function<void(Stream&)>()));
}

CASE(OneStream, "S28 functions: an empty std::function and a null pointer are no host functions") {
  if (!needs(*s, {Feature::host_functions}, [&] { s->launch_host_function([] {}); })) return;
  void (*const pointer)() = nullptr;
  CHECK_REFUSED(Errc::invalid_argument, s->launch_host_function(std::function<void()>()));
  CHECK_REFUSED(Errc::invalid_argument, s->launch_host_function(pointer));
  CHECK_REFUSED(Errc::invalid_argument, s->launch_host_function(nullptr));
  if (device().supports(Feature::stream_callbacks)) {
    CHECK_REFUSED(Errc::invalid_argument, s->add_callback(std::function<void(Stream&, std::error_code)>()));
  }
}

}  // namespace conformance::enumerators_cases
