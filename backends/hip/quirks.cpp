// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/quirks.hpp"

namespace weir::hip {
namespace {

// Known faults. `source` is the evidence: "read" means found in the runtime's source of the named releases, "changelog"
// means stated by AMD. Nothing here was observed on an AMD device. If the end of a range is unknown, the range is open.
constexpr FeatureQuirk quirks_of_features[] = {
    // Users report graphs that give wrong results without an error.
    {Feature::graph_capture,
     {702, 713},
     Effect::opt_in,
     "replayed graphs compute wrong results in about one of five processes on this GPU with HIP 7.2 (ROCm/clr#279; not "
     "with 7.1.1 and 7.13); set WEIR_ENABLE_FEATURES=graph_capture to use graphs anyway",
     "ROCm/clr#279, open: MI300X, 7.2.0, 7.2.2 and 7.2.3, bisected by libamdhip64 alone; vllm-project/vllm#46386",
     "gfx942"},
    {Feature::graph_capture,
     {702, 0},
     Effect::opt_in,
     "graphs read old contents of memory that was copied to on the same stream right before the launch, on this GPU with "
     "HIP 7.2.4 (ROCm/hip#3902); set WEIR_ENABLE_FEATURES=graph_capture to use graphs anyway",
     "ROCm/hip#3902, open: MI355X, 7.2.4",
     "gfx950"},
    {Feature::graph_capture,
     {0, 0},
     Effect::opt_in,
     "graphs of about 200 kernels and more read old pointers on this GPU (ROCm/hip#3887); set "
     "WEIR_ENABLE_FEATURES=graph_capture to use graphs anyway",
     "ROCm/hip#3887, open: gfx1201",
     "gfx12"},

    {Feature::host_functions_in_capture,
     {700, 701},
     Effect::absent,
     "hipLaunchHostFunc fails on a stream that captures in ROCm 7.0.0 and 7.0.1, which have the number of 7.0.2; ROCm 7.1 "
     "has it",
     "changelog 7.0.2; ROCm/legacy-rocm-build#5337"},

    {Feature::stream_callbacks,
     {700, 0},
     Effect::absent,
     "hipStreamAddCallback reports success to every callback, even if the stream has failed, which from HIP 7.0 on does "
     "not end the process; use launch_host_function, and query the stream afterwards",
     "read: StreamAddCallback::callback in hip_event.hpp, 5.x to 2026; changelog 7.0"},

    {Feature::memory_operations_in_capture,
     {0, 1000},
     Effect::absent,
     "values are written and waited for at once on a stream that captures before HIP 10.0; ROCm 10.0 captures them",
     "read: hip_stream_ops.cpp up to October 2024; changelog 10.0"},

    {Feature::graph_child_nodes,
     {0, 714},
     Effect::absent,
     "graphs with child graphs can run out of order, or crash, before HIP 7.14; ROCm 7.14 has them right",
     "changelog 7.13 and 7.14"},

    {Feature::graph_memory_nodes,
     {0, 714},
     Effect::absent,
     "memory that a graph allocates and does not free is unmapped with the executable before HIP 7.14; ROCm 7.14 keeps it",
     "changelog 7.14"},
    {Feature::graph_memory_nodes,
     {714, 0},
     Effect::opt_in,
     "graphs that allocate were rewritten in HIP 7.14, and Weir's use of them has not run on an AMD device; set "
     "WEIR_ENABLE_FEATURES=graph_memory_nodes to use them",
     "ROCm/rocm-systems#7092, #6680"},

    {Feature::graph_update,
     {0, 0},
     Effect::emulated,
     "by instantiating the new graph: hipGraphExecUpdate changes the host functions of launches that are under way, and "
     "does not keep what the new graph owns",
     "read: hip_graph.cpp 5.7 to 2026; ROCm/rocm-systems#10713, #10021: false success"},

    {Feature::graph_upload,
     {0, 0},
     Effect::emulated,
     "hipGraphUpload only looks at its arguments; the first launch does the work",
     "read: hip_graph.cpp up to 6.2"},

    {Feature::external_events,
     {0, 0},
     Effect::absent,
     "a query of an event that a graph records reads the stream of the graph's last launch, destroyed or not, and crashes; "
     "record an event after the launch instead",
     "read: hip_event.cpp 6.2 to 2026; the calls exist from 6.4.2 on"},

    {Feature::cross_device_capture,
     {0, 0},
     Effect::absent,
     "HIP's graphs of several devices are not known to work; capture on each device by itself",
     "AMD's own tests of them are switched off (SWDEV-446588)"},

    {Feature::wait_value_32,
     {0, 0},
     Effect::opt_in,
     "a wait occupies a hardware queue, and streams share four of them, so it can block the very stream that would end it; "
     "set WEIR_ENABLE_FEATURES=wait_value_32 if only the host or other devices end waits",
     "read: rocvirtual.cpp; ROCm/clr#133, ROCm/rocm-systems#9249"},
    {Feature::wait_value_64,
     {0, 0},
     Effect::opt_in,
     "a wait occupies a hardware queue, and streams share four of them, so it can block the very stream that would end it; "
     "set WEIR_ENABLE_FEATURES=wait_value_64 if only the host or other devices end waits",
     "read: rocvirtual.cpp; ROCm/clr#133, ROCm/rocm-systems#9249"},
    {Feature::wait_value_nor,
     {0, 0},
     Effect::opt_in,
     "it is a wait for a value: set WEIR_ENABLE_FEATURES=wait_value_nor if only the host or other devices end waits",
     "as for wait_value_32"},
    {Feature::wait_value_geq,
     {0, 0},
     Effect::absent,
     "HIP compares without regard to wrapping, so counters that wrap would not be waited for; wait with == or &",
     "read: the kernel in rocclr's blit sources compares as unsigned"},
    {Feature::wait_value_flush,
     {0, 0},
     Effect::absent,
     "HIP has no flush of remote writes",
     "read: hip_stream_ops.cpp refuses the flag, and 5.2.3 ends the process"},

    {Feature::interprocess_events,
     {0, 0},
     Effect::absent,
     "a wait for another process's event blocks the host thread if the device cannot share signals, and HIP does not "
     "report whether it can; share memory and a value in it instead",
     "read: hip_event_ipc.cpp up to 6.2 and in 2026"},

    {Feature::blocking_sync_events,
     {0, 0},
     Effect::emulated,
     "only some releases of HIP honour the flag; the waiting thread polls, and sleeps in between",
     "read: hip_event.cpp up to 6.2 and in 2026"},

    {Feature::managed_attach,
     {0, 0},
     Effect::emulated,
     "hipStreamAttachMemAsync looks at its arguments and does no more: AMD devices need no attachment",
     "read: hip_hmm.cpp at 5.2.3 and 6.2"},
};

constexpr FunctionQuirk functions[] = {
    {"hipStreamDestroy",
     {0, 0},
     Workaround::end_streams_elsewhere,
     "waits until the stream's work is done",
     "read: HostQueue::terminate, 6.2"},
    {"hipEventQuery",
     {0, 0},
     Workaround::keep_streams_for_events,
     "follows the stream on which the event was last recorded, also where that has been destroyed",
     "read: hip_event.cpp 6.2 to 2026"},
    {"hipModuleUnload",
     {0, 0},
     Workaround::retire_executables,
     "waits for nothing, and a graph's launch does not hold its kernels' code; hipGraphExecDestroy frees what "
     "a launch that is under way still uses, at once or, in 6.2, when any event of the device is next waited for",
     "read: hip_module.cpp 5.7 to 2026; hip_graph.cpp deletes the object in 5.x, parks it in 6.2.0 to 6.2.2, and counts "
     "references from October 2024 on"},
    {"hipGraphLaunch",
     {0, 0},
     Workaround::order_launches,
     "does not order launches of one executable on several streams",
     "read: GraphExec::Run 5.7 to 2026"},
    {"hipUserObjectRelease",
     {0, 603},
     Workaround::lock_user_objects,
     "looks for the object in a set of all without that set's lock, as hipGraphRetainUserObject does, while other "
     "threads' calls make and end user objects",
     "read: UserObject::isUserObjvalid in hip_graph_internal.hpp at rocm-5.7.1 and rocm-6.2.2; 6.3 locks it"},
    {"hipStreamWaitEvent",
     {0, 0},
     Workaround::join_by_dependencies,
     "links the two streams of a capture as parent and child, whichever of them came first, and hipStreamEndCapture "
     "follows the links without end where forks are nested",
     "read: hip_event.cpp and hip_graph.cpp 5.3 to 2026; ROCm/rocm-systems#11517, #11589"},
    {"hipEventRecord",
     {0, 604},
     Workaround::set_fork_dependencies,
     "leaves the nodes of an earlier capture in the event where the stream has captured none yet, and a stream that waits "
     "for it goes on behind those",
     "read: hip_event.cpp up to October 2024"},
    {"hipMemPoolDestroy",
     {0, 0},
     Workaround::retry_pool_ends,
     "is refused while any thread captures in another than the relaxed mode, whatever the calling thread's mode is",
     "read: hip_mempool.cpp in 2026"},
    {"hipStreamEndCapture",
     {0, 0},
     Workaround::join_before_end,
     "leaves every stream of a capture that is not joined capturing for ever",
     "read: hip_graph.cpp in 5.4, 6.2 and 2026"},
    {"hipStreamEndCapture",
     {0, 714},
     Workaround::end_invalidated_twice,
     "leaves every stream of an invalidated capture invalidated; a capture that then begins and ends puts them right",
     "changelog 7.14; read: hip_graph.cpp and hip_stream.cpp in 5.4 and 6.2"},
    {"hipStreamEndCapture",
     {0, 714},
     Workaround::check_capture_at_end,
     "does not report every error of the capture",
     "pytorch/pytorch#187110; read: STREAM_CAPTURE in hip_internal.hpp at rocm-6.2.2"},
    {"hipMallocAsync",
     {0, 0},
     Workaround::explain_refused_memory,
     "is refused, as hipMallocFromPoolAsync and hipFreeAsync are, while another blocking stream of the device captures; "
     "hipMemPoolCreate, while any capture is open that is not relaxed",
     "read: hip_mempool.cpp in 2026; which release began with it is not known"},
    {"hipEventQuery",
     {0, 714},
     Workaround::ask_events_by_time,
     "invalidates a capture that the event's stream is in, also where the event was recorded before it, and in 7.2.0 and "
     "before one that another thread has open; the time between an event and itself is told all the same",
     "read: hip_event.cpp at rocm-6.2.2 and in October 2024, hipEventElapsedTime 5.7.1 to 2026; sgl-project/sglang#23580, "
     "kokkos/kokkos#8359: mended in 7.2.1, which has the number of 7.2.0, and in 7.12; in 2026 older events are spared"},
    {"hipEventSynchronize",
     {0, 0},
     Workaround::poll_events,
     "holds the event's lock, so that another thread's record of the event waits as well; spins whatever the event's "
     "flags say; is refused while the event's stream captures, also where the event is older, and invalidates that capture",
     "read: hip_event.cpp at rocm-5.7.1, rocm-6.2.2 and in 2026"},
    {"hipStreamSynchronize",
     {702, 0},
     Workaround::poll_streams,
     "can hold the queue's lock, so that other threads cannot submit to the stream meanwhile",
     "ROCm/rocm-systems#11678: 7.2.4 to 7.15"},
    {"hipMallocAsync",
     {0, 0},
     Workaround::allocate_beside_null_stream,
     "follows the null stream as a pointer in some releases",
     "read: hip_mempool.cpp at 5.2.3 and in 2026"},
    {"hipModuleLaunchCooperativeKernel",
     {0, 0},
     Workaround::refuse_cooperative_capture,
     "is not captured but carried out at once",
     "read: hip_module.cpp up to October 2024; later releases were not read"},
};

}  // namespace

std::string_view to_string(Workaround workaround) noexcept {
  switch (workaround) {
#define WEIR_HIP_WORKAROUND(name, what) \
  case Workaround::name: return #name;
    WEIR_HIP_WORKAROUNDS(WEIR_HIP_WORKAROUND)
#undef WEIR_HIP_WORKAROUND
  }
  return "";
}

std::span<const FeatureQuirk> feature_quirks() noexcept { return quirks_of_features; }
std::span<const FunctionQuirk> function_quirks() noexcept { return functions; }

const FeatureQuirk* find_quirk(Feature feature, int release, std::string_view architecture) noexcept {
  for (const FeatureQuirk& quirk : quirks_of_features) {
    if (quirk.feature != feature || !architecture.starts_with(quirk.gpus) || !quirk.releases.contains(release)) continue;
    return &quirk;
  }
  return nullptr;
}

bool needs(Workaround workaround, int release) noexcept {
  for (const FunctionQuirk& quirk : functions) {
    if (quirk.workaround == workaround && quirk.releases.contains(release)) return true;
  }
  return false;
}

}  // namespace weir::hip
