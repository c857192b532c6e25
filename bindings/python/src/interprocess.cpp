// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <cstring>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/event.hpp"
#include "weir/memory.hpp"

// Shares memory and events with other processes.
namespace weir::python {
namespace {

nb::bytes bytes_of(const InterprocessHandle& handle) { return nb::bytes(handle.bytes.data(), handle.bytes.size()); }

InterprocessHandle handle_of(const nb::bytes& descriptor) {
  InterprocessHandle handle;
  if (descriptor.size() != handle.bytes.size())
    throw nb::value_error("ipc_descriptor: this is not a descriptor, which has 64 bytes");
  std::memcpy(handle.bytes.data(), descriptor.data(), handle.bytes.size());
  return handle;
}

nb::bytes descriptor_of_buffer(const BufferObject& self) {
  if (self.data() != self.memory()->data())
    throw nb::value_error(
        "ipc_descriptor: a descriptor shares the whole allocation, and this is a part; use the buffer that was allocated");
  return bytes_of(without_gil([&] { return self.device().interprocess_handle(*self.memory()); }));
}

BufferObject open_buffer(nb::handle device, const nb::bytes& descriptor, nb::handle shape, nb::handle dtype) {
  Device& on = device_of(device);
  const DType type = dtype_of(dtype);
  auto extents = shape_of(shape);
  const std::size_t bytes = byte_count(extents, type);
  const InterprocessHandle handle = handle_of(descriptor);
  return buffer_of(without_gil([&] { return on.open_allocation(handle, bytes); }), type, std::move(extents));
}

EventObject open_event(nb::handle device, const nb::bytes& descriptor) {
  Device& on = device_of(device);
  const InterprocessHandle handle = handle_of(descriptor);
  return without_gil([&] { return EventObject{on.open_event(handle)}; });
}

}  // namespace

void bind_interprocess(nb::module_&) {
  bound<BufferObject>()
      .def_prop_ro(
          "ipc_descriptor", &descriptor_of_buffer,
          "Bytes with which another process opens this memory, which ``Device.allocate`` must have made. Keep the memory\n"
          "alive while it is used there. Feature ``interprocess_memory``.")
      .def_static(
          "from_ipc_descriptor", &open_buffer, nb::arg("device").none(), nb::arg("ipc_descriptor"), nb::arg("shape"),
          nb::arg("dtype") = "uint8",
          nb::sig("def from_ipc_descriptor(device: _Device, ipc_descriptor: bytes, shape: _Shape, "
                  "dtype: _DType = \"uint8\") -> Buffer"),
          "Opens another process's buffer, with this shape. ``device``: the same as there. Order the work of the two\n"
          "processes yourself, by an event or ``sync``. Feature ``interprocess_memory``.");
  bound<EventObject>()
      .def_prop_ro(
          "ipc_descriptor",
          [](const EventObject& e) { return bytes_of(without_gil([&] { return e->interprocess_handle(); })); },
          "Bytes with which another process opens this event, made with ``ipc_enabled``. Feature ``interprocess_events``.")
      .def_static("from_ipc_descriptor", &open_event, nb::arg("device").none(), nb::arg("ipc_descriptor"),
                  nb::sig("def from_ipc_descriptor(device: _Device, ipc_descriptor: bytes) -> Event"),
                  "Opens another process's event. Feature ``interprocess_events``.");
}

}  // namespace weir::python
