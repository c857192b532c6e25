// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "bindings/python/src/gil.hpp"

// Reads the Python call stack, which tools show.
namespace weir::python {

Caller::Frames::Frames() {
  constexpr std::size_t most = 16;
  std::vector<int> lines;
  // Reads it through attributes, which are stable across Python versions.
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (; frame.is_valid() && !frame.is_none() && lines.size() < most; frame = frame.attr("f_back")) {
    const nb::object code = frame.attr("f_code");
    texts.push_back(nb::cast<nb::str>(code.attr("co_qualname")).c_str());
    texts.push_back(nb::cast<nb::str>(code.attr("co_filename")).c_str());
    const nb::object line = frame.attr("f_lineno");
    lines.push_back(line.is_none() ? 0 : nb::cast<int>(line));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) frames.push_back({texts[2 * i], texts[2 * i + 1], lines[i]});
}

Caller::Caller() : scope_(frames_.frames) {}

}  // namespace weir::python
