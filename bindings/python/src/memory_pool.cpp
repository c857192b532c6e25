// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/memory.hpp"

// Implements pools of stream-ordered memory.
namespace weir::python {

void bind_memory_pool(nb::module_& module) {
  nb::class_<PoolObject>(
      module, "MemoryPool",
      "A pool of stream-ordered memory. Made by ``Device.create_memory_pool``; used by ``Stream.allocate``.")
      .def_prop_ro("device", &PoolObject::device, nb::rv_policy::reference)
      .def_prop_ro("handle", &PoolObject::handle, "The vendor's pool (cudaMemPool_t, hipMemPool_t) as an integer.")
      .def(
          "used_bytes", [](const PoolObject& p) { return without_gil([&] { return p->used_bytes(); }); },
          "Bytes that buffers use now.")
      .def(
          "total_bytes", [](const PoolObject& p) { return without_gil([&] { return p->reserved_bytes(); }); },
          "Bytes that the pool has reserved now.")
      .def(
          "trim_to", [](PoolObject& p, std::size_t keep) { without_gil([&] { p->trim_to(keep); }); }, nb::arg("keep"),
          "Releases unused memory until the pool holds at most ``keep`` bytes.")
      .def(
          "set_release_threshold",
          [](PoolObject& p, std::size_t bytes) { without_gil([&] { p->set_release_threshold(bytes); }); }, nb::arg("bytes"),
          "How many unused bytes the pool keeps at a ``sync``.")
      .def("__repr__", [](const PoolObject& p) { return "<MemoryPool of " + p->device().describe() + ">"; });
  auto device = bound<Device>();
  device.def(
      "create_memory_pool",
      [](Device& d, std::size_t max_size, std::size_t release_threshold) {
        return without_gil([&] { return PoolObject(d.create_memory_pool({max_size, release_threshold})); });
      },
      nb::kw_only(), nb::arg("max_size") = 0, nb::arg("release_threshold") = 0,
      "A new pool. ``max_size``: its upper limit in bytes, 0 for no limit (feature ``memory_pool_max_size``).\n"
      "``release_threshold``: unused bytes that it keeps at a ``sync``. Feature ``memory_pools``.");
  device.def_prop_ro(
      "default_memory_pool", [](Device& d) { return without_gil([&] { return PoolObject(d.default_memory_pool()); }); },
      "The device's default pool, which other code uses, too. Feature ``memory_pools``.");
}

}  // namespace weir::python
