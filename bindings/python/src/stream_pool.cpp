// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_pool.hpp"

#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <utility>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"

// Pools of streams.
namespace weir::python {
namespace {

struct StreamPoolObject {
  std::unique_ptr<StreamPool> pool;

  explicit StreamPoolObject(std::unique_ptr<StreamPool> made) noexcept : pool(std::move(made)) {}
  StreamPoolObject(StreamPoolObject&&) = default;
  StreamPoolObject& operator=(StreamPoolObject&&) = delete;
  ~StreamPoolObject() { release(pool); }
};

/// `stream` is the same Python object throughout the lease, since `with` looks for the very object that it made current.
struct LeaseObject {
  std::optional<StreamLease> lease;
  nb::object stream;

  explicit LeaseObject(StreamLease&& made) : lease(std::move(made)), stream(nb::cast(StreamObject{lease->stream()})) {}
  LeaseObject(LeaseObject&& other) noexcept
      : lease(std::exchange(other.lease, std::nullopt)), stream(std::move(other.stream)) {}
  LeaseObject& operator=(LeaseObject&&) = delete;
  ~LeaseObject() { close(); }
  /// A capture that is open on the stream goes on, and its graph keeps its buffers: another user may have begun it.
  void close() {
    std::optional<StreamLease> given = std::exchange(lease, std::nullopt);
    release(given);
  }
  nb::object enter() const {
    if (!lease) throw nb::value_error("the lease is closed: its stream may be on loan to another user; lease one again");
    return stream.attr("__enter__")();
  }
};

PoolSharing sharing_of(const std::string& name) {
  if (name == "exclusive") return PoolSharing::exclusive;
  if (name == "round_robin") return PoolSharing::round_robin;
  throw nb::value_error(("sharing: '" + name + "'; it is 'exclusive' or 'round_robin'").c_str());
}

StreamPoolObject make_pool(nb::handle device, std::size_t max_streams, const std::string& sharing, bool nonblocking,
                           nb::handle priority) {
  return StreamPoolObject(std::make_unique<StreamPool>(
      device_of(device), StreamPoolOptions{max_streams, sharing_of(sharing), stream_options(nonblocking, priority)}));
}

nb::object try_lease(StreamPoolObject& self) {
  std::optional<StreamLease> lease = without_gil([&] { return self.pool->try_lease(); });
  return lease ? nb::cast(LeaseObject(*std::move(lease))) : nb::none();
}

}  // namespace

void bind_stream_pool(nb::module_& module) {
  nb::class_<LeaseObject>(
      module, "StreamLease",
      "A stream on loan from a ``StreamPool``, until this object is closed or freed, or its ``with`` block ends.")
      .def_ro("stream", &LeaseObject::stream, nb::sig("def stream(self) -> Stream"))
      .def("close", &LeaseObject::close, nb::lock_self(), "Returns the stream to the pool. Does not wait for its work.")
      .def(
          "__enter__", [](LeaseObject& l) { return l.enter(); }, nb::lock_self(), nb::sig("def __enter__(self) -> Stream"),
          "Makes the stream the current one of its device. Raises ``ValueError`` if the lease is closed.")
      .def_prop_ro(
          "is_closed", [](const LeaseObject& l) { return !l.lease; }, nb::lock_self(), "Whether the stream was returned.")
      .def(
          "__exit__",
          [](LeaseObject& l, nb::args) {
            l.stream.attr("__exit__")();
            l.close();
          },
          nb::lock_self(), nb::sig("def __exit__(self, *args: object) -> None"), "Returns the stream to the pool.");

  nb::class_<StreamPoolObject>(module, "StreamPool",
                               "Streams on loan, for code that needs one briefly: ``with pool.lease() as stream:``. A\n"
                               "returned stream may still have work; work of the next lease runs behind it.")
      .def(nb::new_(&make_pool), nb::arg("device") = nb::none(), nb::kw_only(), nb::arg("max_streams") = 32,
           nb::arg("sharing") = "exclusive", nb::arg("nonblocking") = true, nb::arg("priority") = nb::none(),
           "Streams are created on demand, up to ``max_streams``. ``sharing``: ``\"exclusive\"``, or\n"
           "``\"round_robin\"``, which lends the same streams to several users at a time. ``nonblocking``, ``priority``:\n"
           "as for ``Device.create_stream``.")
      .def_prop_ro(
          "device", [](const StreamPoolObject& p) -> Device& { return p.pool->device(); }, nb::rv_policy::reference)
      .def_prop_ro(
          "size", [](const StreamPoolObject& p) { return p.pool->size(); }, "The number of streams created so far.")
      .def(
          "lease", [](StreamPoolObject& p) { return LeaseObject(without_gil([&] { return p.pool->lease(); })); },
          "Lends a stream. Raises ``PoolExhaustedError`` if all are on loan.")
      .def("try_lease", &try_lease, nb::sig("def try_lease(self) -> StreamLease | None"),
           "Lends a stream; None if all are on loan.");
}

}  // namespace weir::python
