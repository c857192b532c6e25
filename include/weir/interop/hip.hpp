// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/export.hpp"
#include "weir/interop/of_backend.hpp"
#include "weir/registry.hpp"
#include "weir/stream.hpp"

struct hipGraphExec;
struct ihipEvent_t;
struct ihipGraph;
struct ihipMemPoolHandle_t;
struct ihipModuleSymbol_t;
struct ihipModule_t;
struct ihipStream_t;

/// Interoperability with HIP: returns the HIP handles of Weir's objects, and wraps HIP streams. Needs no HIP header. The
/// handle types are those of hip_runtime_api.h for AMD devices.
///
/// Weir restores a thread's current HIP device after changing it. If Weir's interface lacks a feature, call HIP with the
/// handle, or create the stream with HIP and adopt it.
///
/// Functions throw `wrong_device` for an object of another backend. Weir's objects still own the returned handles. Other
/// code may use a returned handle to record an event or to begin a capture; Weir detects this.
namespace weir::hip {

namespace detail {
template <class R>
auto& hip_object(const R& ref, const char* operation) {
  return weir::detail::of_backend(ref, "hip", "HIP", operation);
}
inline const Device& hip_only(const Device& device, const char* operation) {
  return weir::detail::of_backend(device, "hip", "HIP", operation);
}
}  // namespace detail

// --- Weir's objects to HIP --------------------------------------------------------------------------------------------

/// Returns a hipStream_t.
inline ihipStream_t* stream(StreamRef s) {
  return static_cast<ihipStream_t*>(detail::hip_object(s, "hip::stream").share_native_handle());
}
/// Returns a hipEvent_t.
inline ihipEvent_t* event(EventRef e) {
  return static_cast<ihipEvent_t*>(detail::hip_object(e, "hip::event").share_native_handle());
}
/// Returns a hipGraph_t.
inline ihipGraph* graph(GraphRef g) {
  return static_cast<ihipGraph*>(detail::hip_object(g, "hip::graph").native_handle());
}
/// Returns a hipGraphExec_t.
inline hipGraphExec* graph_exec(Ref<const GraphExec> g) {
  return static_cast<hipGraphExec*>(detail::hip_object(g, "hip::graph_exec").native_handle());
}
/// Returns a hipModule_t.
inline ihipModule_t* module(Ref<const Module> m) {
  return static_cast<ihipModule_t*>(detail::hip_object(m, "hip::module").native_handle());
}
/// Returns a hipFunction_t.
inline ihipModuleSymbol_t* function(KernelRef k) {
  return static_cast<ihipModuleSymbol_t*>(detail::hip_object(k, "hip::function").native_handle());
}
/// Returns a hipMemPool_t.
inline ihipMemPoolHandle_t* memory_pool(Ref<const MemoryPool> p) {
  return static_cast<ihipMemPoolHandle_t*>(detail::hip_object(p, "hip::memory_pool").native_handle());
}
/// Returns the hipDevice_t, which is the device's ordinal.
inline int device_number(const Device& d) {
  return static_cast<int>(detail::hip_only(d, "hip::device_number").native_handle());
}

// --- HIP's objects to Weir --------------------------------------------------------------------------------------------

/// Returns Weir's device for HIP's device `ordinal`. Throws like `Registry::open`; `invalid_argument` if there is no such
/// device.
WEIR_IN_CALLER Device& device(int ordinal) { return Registry::instance().open("hip").device(ordinal); }

/// Wraps a HIP stream of `device`; see `Device::wrap_stream`.
inline StreamPtr wrap(Device& device, ihipStream_t* stream, Ownership ownership = Ownership::borrow,
                      std::shared_ptr<const void> keep_alive = {}) {
  detail::hip_only(device, "hip::wrap");
  return device.wrap_stream(stream, ownership, std::move(keep_alive));
}

}  // namespace weir::hip
