// SPDX-License-Identifier: Apache-2.0
#include "weir/partition.hpp"

#include <nanobind/stl/string.h>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"

// Implements partitions: parts of a device.
namespace weir::python {
namespace {

using PartitionObject = Owned<Partition>;

StreamObject create_stream(PartitionObject& self, nb::handle priority) {
  const StreamOptions options = stream_options(true, priority);
  return without_gil([&] { return StreamObject{self->create_stream(options)}; });
}

}  // namespace

void bind_partition(nb::module_& module) {
  nb::class_<PartitionObject>(
      module, "Partition",
      "Some of a device's compute units; kernels on its streams run only there. A green context on CUDA. Everything\n"
      "else, such as memory and events, belongs to the device. Keep the partition alive while graphs with its kernels\n"
      "are launched.")
      .def_prop_ro("device", &PartitionObject::device, nb::rv_policy::reference)
      .def_prop_ro(
          "compute_units", [](const PartitionObject& p) { return p->compute_units(); },
          "The number of compute units: at least as many as requested, since drivers hand them out in groups.")
      .def_prop_ro("handle", &PartitionObject::handle,
                   "The vendor's object (CUgreenCtx) as an integer; 0 where there is none.")
      .def("create_stream", &create_stream, nb::kw_only(), nb::arg("priority") = nb::none(),
           nb::sig("def create_stream(self, *, priority: _Priority = None) -> Stream"),
           "A new stream whose kernels run only on these units. ``priority``: as for ``Device.create_stream``.")
      .def("__repr__", [](const PartitionObject& p) { return "<Partition " + p->describe() + ">"; });

  bound<Device>().def(
      "create_partition",
      [](Device& d, std::uint32_t compute_units) {
        return without_gil([&] { return PartitionObject(d.partition({compute_units})); });
      },
      nb::arg("compute_units"),
      "A partition of that many multiprocessors, compute units or CPU workers, none of which is in another partition.\n"
      "Raises ``InvalidArgumentError`` for 0, and for more than are left. Feature ``partitions``.");
}

}  // namespace weir::python
