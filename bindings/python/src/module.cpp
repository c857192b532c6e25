// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/common.hpp"
#include "weir/version.hpp"

// The extension module weir._core. weir/__init__.py exports its names.
NB_MODULE(_core, module) {
  using namespace weir::python;
  module.attr("version") = nb::str((std::to_string(WEIR_VERSION_MAJOR) + '.' + std::to_string(WEIR_VERSION_MINOR) + '.' +
                                    std::to_string(WEIR_VERSION_PATCH))
                                       .c_str());
  bind_gil(module);
  bind_errors(module);
  bind_dtypes(module);
  bind_device(module);
  bind_event(module);
  bind_stream(module);
  bind_current_stream(module);
  bind_memory_pool(module);
  bind_buffer(module);
  bind_values(module);
  bind_partition(module);
  bind_interprocess(module);
  bind_kernel(module);
  bind_graph(module);
  bind_graph_parts(module);
  bind_graph_changes(module);
  bind_host_functions(module);
  bind_portable_graph(module);
  bind_dlpack(module);
  bind_foreign_arrays(module);
  bind_foreign_streams(module);
}
