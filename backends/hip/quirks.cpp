// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/quirks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::hip {
namespace {

// Known faults, each with the evidence: "read" means found in the runtime's source of the named releases, "changelog" means
// stated by AMD. Nothing here was observed on an AMD device. If the end of a range is unknown, the range is open.
constexpr FeatureQuirk quirks_of_features[] = {
    // Users report graphs that give wrong results without an error.
    // ROCm/clr#279, open: MI300X, 7.2.0, 7.2.2 and 7.2.3, bisected by libamdhip64 alone; vllm-project/vllm#46386
    {Feature::graph_capture,
     {702, 713},
     Effect::opt_in,
     "replayed graphs compute wrong results in about one of five processes on this GPU with HIP 7.2 (ROCm/clr#279; not "
     "with 7.1.1 and 7.13); set WEIR_ENABLE_FEATURES=graph_capture to use graphs anyway",
     "gfx942"},
    // ROCm/hip#3902, open: MI355X, 7.2.4
    {Feature::graph_capture,
     {702, 0},
     Effect::opt_in,
     "graphs read old contents of memory that was copied to on the same stream right before the launch, on this GPU with "
     "HIP 7.2.4 (ROCm/hip#3902); set WEIR_ENABLE_FEATURES=graph_capture to use graphs anyway",
     "gfx950"},
    // ROCm/hip#3887, open: gfx1201
    {Feature::graph_capture,
     {0, 0},
     Effect::opt_in,
     "graphs of about 200 kernels and more read old pointers on this GPU (ROCm/hip#3887); set "
     "WEIR_ENABLE_FEATURES=graph_capture to use graphs anyway",
     "gfx12"},

    // Changelog 7.0.2; ROCm/legacy-rocm-build#5337
    {Feature::host_functions_in_capture,
     {700, 701},
     Effect::absent,
     "hipLaunchHostFunc fails on a stream that captures in ROCm 7.0.0 and 7.0.1, which have the number of 7.0.2; ROCm 7.1 "
     "has it"},

    // Read: StreamAddCallback::callback in hip_event.hpp, 5.x to 2026; changelog 7.0
    {Feature::stream_callbacks,
     {700, 0},
     Effect::absent,
     "hipStreamAddCallback reports success to every callback, even if the stream has failed, which from HIP 7.0 on does "
     "not end the process; use launch_host_function, and query the stream afterwards"},

    // Read: hip_stream_ops.cpp up to October 2024; changelog 10.0
    {Feature::memory_operations_in_capture,
     {0, 1000},
     Effect::absent,
     "values are written and waited for at once on a stream that captures before HIP 10.0; ROCm 10.0 captures them"},

    // Changelog 7.13 and 7.14
    {Feature::graph_child_nodes,
     {0, 714},
     Effect::absent,
     "graphs with child graphs can run out of order, or crash, before HIP 7.14; ROCm 7.14 has them right"},

    // Changelog 7.14
    {Feature::graph_memory_nodes,
     {0, 714},
     Effect::absent,
     "memory that a graph allocates and does not free is unmapped with the executable before HIP 7.14; ROCm 7.14 keeps it"},
    // ROCm/rocm-systems#7092, #6680
    {Feature::graph_memory_nodes,
     {714, 0},
     Effect::opt_in,
     "graphs that allocate were rewritten in HIP 7.14, and Weir's use of them has not run on an AMD device; set "
     "WEIR_ENABLE_FEATURES=graph_memory_nodes to use them"},

    // Read: hip_graph.cpp 5.7 to 2026; ROCm/rocm-systems#10713, #10021: false success
    {Feature::graph_update,
     {0, 0},
     Effect::emulated,
     "by instantiating the new graph: hipGraphExecUpdate changes the host functions of launches that are under way, and "
     "does not keep what the new graph owns"},

    // Read: hip_graph.cpp up to 6.2
    {Feature::graph_upload,
     {0, 0},
     Effect::emulated,
     "hipGraphUpload only looks at its arguments; the first launch does the work"},

    // Read: hip_event.cpp 6.2 to 2026; the calls exist from 6.4.2 on
    {Feature::external_events,
     {0, 0},
     Effect::absent,
     "a query of an event that a graph records reads the stream of the graph's last launch, destroyed or not, and crashes; "
     "record an event after the launch instead"},

    // AMD's own tests of them are switched off (SWDEV-446588)
    {Feature::cross_device_capture,
     {0, 0},
     Effect::absent,
     "HIP's graphs of several devices are not known to work; capture on each device by itself"},

    // Read: rocvirtual.cpp; ROCm/clr#133, ROCm/rocm-systems#9249
    {Feature::wait_value_32,
     {0, 0},
     Effect::opt_in,
     "a wait occupies a hardware queue, and streams share four of them, so it can block the very stream that would end it; "
     "set WEIR_ENABLE_FEATURES=wait_value_32 if only the host or other devices end waits"},
    // Read: rocvirtual.cpp; ROCm/clr#133, ROCm/rocm-systems#9249
    {Feature::wait_value_64,
     {0, 0},
     Effect::opt_in,
     "a wait occupies a hardware queue, and streams share four of them, so it can block the very stream that would end it; "
     "set WEIR_ENABLE_FEATURES=wait_value_64 if only the host or other devices end waits"},
    // As for wait_value_32
    {Feature::wait_value_nor,
     {0, 0},
     Effect::opt_in,
     "it is a wait for a value: set WEIR_ENABLE_FEATURES=wait_value_nor if only the host or other devices end waits"},
    // Read: the kernel in rocclr's blit sources compares as unsigned
    {Feature::wait_value_geq,
     {0, 0},
     Effect::absent,
     "HIP compares without regard to wrapping, so counters that wrap would not be waited for; wait with == or &"},
    // Read: hip_stream_ops.cpp refuses the flag, and 5.2.3 ends the process
    {Feature::wait_value_flush, {0, 0}, Effect::absent, "HIP has no flush of remote writes"},

    // Read: hip_event_ipc.cpp up to 6.2 and in 2026
    {Feature::interprocess_events,
     {0, 0},
     Effect::absent,
     "a wait for another process's event blocks the host thread if the device cannot share signals, and HIP does not "
     "report whether it can; share memory and a value in it instead"},

    // Read: hip_event.cpp up to 6.2 and in 2026
    {Feature::blocking_sync_events,
     {0, 0},
     Effect::emulated,
     "only some releases of HIP honour the flag; the waiting thread polls, and sleeps in between"},

    // Read: hip_hmm.cpp at 5.2.3 and 6.2
    {Feature::managed_attach,
     {0, 0},
     Effect::emulated,
     "hipStreamAttachMemAsync looks at its arguments and does no more: AMD devices need no attachment"},
};

// What the functions do that Weir works around, with the evidence, and the releases that do it.
constexpr std::pair<Workaround, Releases> releases_of_workarounds[] = {
    // hipStreamDestroy waits until the stream's work is done (read: HostQueue::terminate, 6.2): a stream that is not idle is
    // destroyed on a thread of its own.
    {Workaround::end_streams_elsewhere, {0, 0}},
    // hipEventQuery follows the stream on which the event was last recorded, also where that has been destroyed (read:
    // hip_event.cpp 6.2 to 2026): a stream is destroyed once no event is there that was last recorded on it.
    {Workaround::keep_streams_for_events, {0, 0}},
    // hipModuleUnload waits for nothing, and a graph's launch does not hold its kernels' code; hipGraphExecDestroy frees
    // what a launch that is under way still uses, at once or, in 6.2, when any event of the device is next waited for (read:
    // hip_module.cpp 5.7 to 2026; hip_graph.cpp deletes the object in 5.x, parks it in 6.2.0 to 6.2.2, and counts references
    // from October 2024 on): an executable goes, with modules and host functions, once its last launch is over.
    {Workaround::retire_executables, {0, 0}},
    // hipGraphLaunch does not order launches of one executable on several streams (read: GraphExec::Run 5.7 to 2026): a
    // launch of an executable waits for that on another stream before it.
    {Workaround::order_launches, {0, 0}},
    // hipUserObjectRelease looks for the object in a set of all without that set's lock, as hipGraphRetainUserObject does,
    // while other threads' calls make and end user objects (read: UserObject::isUserObjvalid in hip_graph_internal.hpp at
    // rocm-5.7.1 and rocm-6.2.2; 6.3 locks it): one thread at a time calls what looks for, makes or ends user objects of
    // graphs.
    {Workaround::lock_user_objects, {0, 603}},
    // hipStreamWaitEvent links the two streams of a capture as parent and child, whichever of them came first, and
    // hipStreamEndCapture follows the links without end where forks are nested (read: hip_event.cpp and hip_graph.cpp 5.3 to
    // 2026; ROCm/rocm-systems#11517, #11589): a stream of a capture waits for another by the nodes that it depends on.
    {Workaround::join_by_dependencies, {0, 0}},
    // hipEventRecord leaves the nodes of an earlier capture in the event where the stream has captured none yet, and a
    // stream that waits for it goes on behind those (read: hip_event.cpp up to October 2024): a stream that joins a capture
    // gets the nodes that it depends on anew.
    {Workaround::set_fork_dependencies, {0, 604}},
    // hipMemPoolDestroy is refused while any thread captures in another than the relaxed mode, whatever the calling thread's
    // mode is (read: hip_mempool.cpp in 2026): a pool whose end a capture forbids ends later, on a thread of its own.
    {Workaround::retry_pool_ends, {0, 0}},
    // hipStreamEndCapture leaves every stream of a capture that is not joined capturing for ever (read: hip_graph.cpp in
    // 5.4, 6.2 and 2026): what is left of a capture is joined before its end, so that the runtime sees no unjoined one.
    {Workaround::join_before_end, {0, 0}},
    // hipStreamEndCapture leaves every stream of an invalidated capture invalidated; a capture that then begins and ends
    // puts them right (changelog 7.14; read: hip_graph.cpp and hip_stream.cpp in 5.4 and 6.2): a stream is brought back from
    // an invalidated capture by an empty one.
    {Workaround::end_invalidated_twice, {0, 714}},
    // hipStreamEndCapture does not report every error of the capture (pytorch/pytorch#187110; read: STREAM_CAPTURE in
    // hip_internal.hpp at rocm-6.2.2): a capture is asked after before it ends, and its graph destroyed where it had failed.
    {Workaround::check_capture_at_end, {0, 714}},
    // hipMallocAsync is refused, as hipMallocFromPoolAsync and hipFreeAsync are, while another blocking stream of the device
    // captures; hipMemPoolCreate, while any capture is open that is not relaxed (read: hip_mempool.cpp in 2026; which
    // release began with it is not known): an error of stream-ordered memory tells of captures that are in the way.
    {Workaround::explain_refused_memory, {0, 0}},
    // hipEventQuery invalidates a capture that the event's stream is in, also where the event was recorded before it, and in
    // 7.2.0 and before one that another thread has open; the time between an event and itself is told all the same (read:
    // hip_event.cpp at rocm-6.2.2 and in October 2024, hipEventElapsedTime 5.7.1 to 2026; sgl-project/sglang#23580,
    // kokkos/kokkos#8359: mended in 7.2.1, which has the number of 7.2.0, and in 7.12; in 2026 older events are spared): an
    // event is asked after by the time between it and itself, so all events take times.
    {Workaround::ask_events_by_time, {0, 714}},
    // hipEventSynchronize holds the event's lock, so that another thread's record of the event waits as well; spins whatever
    // the event's flags say; is refused while the event's stream captures, also where the event is older, and invalidates
    // that capture (read: hip_event.cpp at rocm-5.7.1, rocm-6.2.2 and in 2026): the host asks until an event is complete,
    // before it waits for it.
    {Workaround::poll_events, {0, 0}},
    // hipStreamSynchronize can hold the queue's lock, so that other threads cannot submit to the stream meanwhile
    // (ROCm/rocm-systems#11678: 7.2.4 to 7.15): the host asks until a stream is idle, before it waits for it.
    {Workaround::poll_streams, {702, 0}},
    // hipMallocAsync follows the null stream as a pointer in some releases (read: hip_mempool.cpp at 5.2.3 and in 2026):
    // memory of the null stream is allocated on a blocking stream of the backend's own.
    {Workaround::allocate_beside_null_stream, {0, 0}},
    // hipModuleLaunchCooperativeKernel is not captured but carried out at once (read: hip_module.cpp up to October 2024;
    // later releases were not read): a cooperative launch is refused while capturing.
    {Workaround::refuse_cooperative_capture, {0, 0}},
};

}  // namespace

std::string_view to_string(Workaround workaround) noexcept {
#define WEIR_HIP_WORKAROUND(name) #name,
  constexpr std::string_view names[] = {WEIR_HIP_WORKAROUNDS(WEIR_HIP_WORKAROUND)};
#undef WEIR_HIP_WORKAROUND
  return names[static_cast<std::size_t>(workaround)];
}

std::span<const FeatureQuirk> feature_quirks() noexcept { return quirks_of_features; }

const FeatureQuirk* find_quirk(Feature feature, int release, std::string_view architecture) noexcept {
  for (const FeatureQuirk& quirk : quirks_of_features) {
    if (quirk.feature != feature || !architecture.starts_with(quirk.gpus) || !quirk.releases.contains(release)) continue;
    return &quirk;
  }
  return nullptr;
}

bool needs(Workaround workaround, int release) noexcept {
  const auto* const found = std::find_if(std::begin(releases_of_workarounds), std::end(releases_of_workarounds),
                                         [&](const auto& row) { return row.first == workaround; });
  return found->second.contains(release);
}

}  // namespace weir::hip
