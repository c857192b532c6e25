// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/export.hpp"
#include "weir/interop/of_backend.hpp"
#include "weir/registry.hpp"
#include "weir/stream.hpp"

struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmemPoolHandle_st;
struct CUmod_st;
struct CUstream_st;

/// Interoperability with CUDA: returns the CUDA handles of Weir's objects, and wraps CUDA streams. Needs no CUDA header. The
/// handle types are those of the driver API (CUstream); the runtime's types (cudaStream_t) are the same.
///
/// Weir uses each device's primary context, like the CUDA runtime. If Weir's interface lacks a feature (raw stream flags,
/// attributes of the newest drivers), call CUDA with the handle, or create the stream with CUDA and adopt it.
///
/// Functions throw `wrong_device` for an object of another backend. Weir's objects still own the returned handles. Other
/// code may use a returned handle to record an event or to begin a capture; Weir detects this.
namespace weir::cuda {

namespace detail {
template <class R>
auto& cuda_object(const R& ref, const char* operation) {
  return weir::detail::of_backend(ref, "cuda", "CUDA", operation);
}
inline const Device& cuda_only(const Device& device, const char* operation) {
  return weir::detail::of_backend(device, "cuda", "CUDA", operation);
}
}  // namespace detail

// --- Weir's objects to CUDA -------------------------------------------------------------------------------------------

/// Returns a cudaStream_t, which is a CUstream.
inline CUstream_st* stream(StreamRef s) {
  return static_cast<CUstream_st*>(detail::cuda_object(s, "cuda::stream").share_native_handle());
}
/// Returns the CUcontext of the stream: the primary context of its device.
inline CUctx_st* context(StreamRef s) {
  return static_cast<CUctx_st*>(detail::cuda_object(s, "cuda::context").native_context());
}
/// Returns a cudaEvent_t, which is a CUevent.
inline CUevent_st* event(EventRef e) {
  return static_cast<CUevent_st*>(detail::cuda_object(e, "cuda::event").share_native_handle());
}
/// Returns a cudaGraph_t, which is a CUgraph.
inline CUgraph_st* graph(GraphRef g) {
  return static_cast<CUgraph_st*>(detail::cuda_object(g, "cuda::graph").native_handle());
}
/// Returns a cudaGraphExec_t, which is a CUgraphExec.
inline CUgraphExec_st* graph_exec(Ref<const GraphExec> g) {
  return static_cast<CUgraphExec_st*>(detail::cuda_object(g, "cuda::graph_exec").native_handle());
}
/// Returns a CUmodule.
inline CUmod_st* module(Ref<const Module> m) {
  return static_cast<CUmod_st*>(detail::cuda_object(m, "cuda::module").native_handle());
}
/// Returns a CUfunction.
inline CUfunc_st* function(KernelRef k) {
  return static_cast<CUfunc_st*>(detail::cuda_object(k, "cuda::function").native_handle());
}
/// Returns a cudaMemPool_t, which is a CUmemoryPool.
inline CUmemPoolHandle_st* memory_pool(Ref<const MemoryPool> p) {
  return static_cast<CUmemPoolHandle_st*>(detail::cuda_object(p, "cuda::memory_pool").native_handle());
}
/// Returns the CUdevice, which is also the device's ordinal in the runtime.
inline int device_number(const Device& d) {
  return static_cast<int>(detail::cuda_only(d, "cuda::device_number").native_handle());
}
/// Returns the memory's CUdeviceptr, for the driver API. Functions of the runtime accept `data()` itself.
inline std::uint64_t address(const Allocation& a) noexcept { return reinterpret_cast<std::uintptr_t>(a.data()); }

// --- CUDA's objects to Weir -------------------------------------------------------------------------------------------

/// Returns Weir's device for CUDA's device `ordinal`. Throws like `Registry::open`; `invalid_argument` if there is no such
/// device.
WEIR_IN_CALLER Device& device(int ordinal) { return Registry::instance().open("cuda").device(ordinal); }

/// Wraps a CUDA stream of `device`; see `Device::wrap_stream`.
inline StreamPtr wrap(Device& device, CUstream_st* stream, Ownership ownership = Ownership::borrow,
                      std::shared_ptr<const void> keep_alive = {}) {
  detail::cuda_only(device, "cuda::wrap");
  return device.wrap_stream(stream, ownership, std::move(keep_alive));
}

}  // namespace weir::cuda
