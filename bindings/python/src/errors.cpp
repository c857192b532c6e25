// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <array>
#include <cctype>
#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "bindings/python/src/common.hpp"
#include "weir/error.hpp"

// Converts errors to Python exceptions. WEIR_ERRORS names the class of each code; weir/errors.py defines it.
namespace weir::python {
namespace {

const char* class_name(Errc code) noexcept {
  switch (code) {
#define WEIR_ERROR_CLASS(number, name, NAME, type, sentence) \
  case Errc::name: return #type;
    WEIR_ERRORS(WEIR_ERROR_CLASS)
#undef WEIR_ERROR_CLASS
  }
  return "Error";
}

/// Replaces C++ names in the core's messages by Python's names.
std::string in_python(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 48> words{{
      {"EventOptions{.timing = true}", "timing_enabled=True"},
      {"EventOptions{.interprocess = true}", "ipc_enabled=True"},
      {"CaptureOptions{.portable = true}", "portable=True"},
      {"CaptureOptions::portable", "portable=True"},
      {"CaptureMode::relaxed", "mode=\"relaxed\""},
      {"CompileOptions::kernels names (KERNELS in weir_add_kernels)", "name_expressions lists"},
      {"CompileOptions::kernels, or behind KERNELS in weir_add_kernels", "name_expressions"},
      {"CompileOptions::kernels", "name_expressions"},
      {"CompileOptions::headers", "headers"},
      {"CompileOptions::debug", "debug=True"},
      {"LaunchConfig{.cooperative = true}", "is_cooperative=True"},
      {"StreamOptions::priority", "create_stream(priority=…)"},
      {"MemoryKind::pinned", "kind=\"pinned\""},
      {"(weir::Feature::block_cooperation)", "(\"block_cooperation\")"},
      {"one that native_handle or release_handle returned", "a Stream's handle"},
      {"launch_host_function(function, {.name = …})", "launch_host_func(function, name=…)"},
      {"launch_host_function", "launch_host_func"},
      {"Device::per_thread_stream", "Device.per_thread_default_stream"},
      {"Device::partition", "Device.create_partition"},
      {"Device::memory_info", "Device.mem_info"},
      {"Device::wrap_stream", "Stream.wrap"},
      {"Device::open_event", "Event.from_ipc_descriptor"},
      {"Device::open_allocation", "Buffer.from_ipc_descriptor"},
      {"Device::interprocess_handle", "Buffer.ipc_descriptor"},
      {"Event::interprocess_handle", "Event.ipc_descriptor"},
      {"Event::elapsed_since", "Event.__sub__"},
      {"Device::compile", "weir.compile"},
      {"Device::load_module", "weir.load"},
      {"Device::load_graph", "Device.load_graph"},
      {"Device::load", "weir.load"},
      {"Module::kernel", "Module.get_kernel"},
      {"Module::global", "Module.get_global"},
      {"Stream::launch_host_func", "Stream.launch_host_func"},
      {"Stream::launch", "weir.launch"},
      {"Stream::allocate_async", "Stream.allocate"},
      {"Stream::capture_info", "Stream.is_capturing"},
      {"Stream::set_capture_dependencies", "GraphBuilder.add"},
      {"Stream::fill", "Buffer.fill"},
      {"Stream::prefetch", "Buffer.prefetch"},
      {"Stream::is_non_blocking", "Stream.is_nonblocking"},
      {"::is_complete", ".is_done"},
      {"::synchronize_for", ".sync"},
      {"::synchronize", ".sync"},
      {"GraphExec::", "Graph::"},
      {"Registry::open", "weir.Device"},
      {"Registry::default_backend", "weir.Device"},
      {"Registry::default_device", "weir.Device"},
      {"Backend::device", "weir.Device"},
  }};
  for (const auto& [ours, theirs] : words) {
    for (std::size_t at = 0; (at = text.find(ours, at)) != text.npos; at += theirs.size())
      text.replace(at, ours.size(), theirs);
  }
  // Other names, if Python has them: "GraphBuilder::add".
  const auto is_of_name = [&](std::size_t i) { return i < text.size() && (std::isalnum(text[i]) != 0 || text[i] == '_'); };
  const nb::module_ core = nb::module_::import_("weir._core");
  for (std::size_t at = 0; (at = text.find("::", at)) != text.npos; ++at) {
    std::size_t begin = at, end = at + 2;
    while (begin != 0 && is_of_name(begin - 1)) --begin;
    while (is_of_name(end)) ++end;
    const nb::object owner = nb::getattr(core, text.substr(begin, at - begin).c_str(), nb::none());
    if (!owner.is_none() && nb::hasattr(owner, text.substr(at + 2, end - at - 2).c_str())) text.replace(at, 2, ".");
  }
  return text;
}

nb::object exception_of(const Error& error) {
  std::string text = in_python(error.what());
  if (error.errc() == Errc::forked_process) text += "; in Python by multiprocessing.get_context(\"spawn\")";
  nb::object exception = nb::module_::import_("weir.errors").attr(class_name(error.errc()))(text.c_str());
  exception.attr("code") = nb::cast(std::string(to_string(error.errc())).c_str());
  exception.attr("operation") = in_python(error.operation()).c_str();
  exception.attr("object") = error.object().c_str();
  exception.attr("detail") = in_python(error.detail()).c_str();
  exception.attr("native_code") = error.native().code;
  exception.attr("native_name") = error.native().name.c_str();
  return exception;
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error&) {
    set_python_error();
  } catch (const std::bad_cast&) {  // thrown by nb::cast
    set_python_error();
  }
}

PyObject* class_of(nb::exception_type type) noexcept {
  switch (type) {
    case nb::exception_type::value_error: return PyExc_ValueError;
    case nb::exception_type::index_error: return PyExc_IndexError;
    case nb::exception_type::buffer_error: return PyExc_BufferError;
    case nb::exception_type::attribute_error: return PyExc_AttributeError;
    default: return PyExc_TypeError;
  }
}

}  // namespace

PyObject* new_exception(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    set_python_error();
  }
  return nb::python_error().value().inc_ref().ptr();
}

void throw_wrong_type(const char* name, const char* expected, nb::handle given) {
  throw nb::type_error((std::string(name) + ": " + expected + " is expected, and this is of the type " +
                        nb::cast<std::string>(given.type().attr("__name__")))
                           .c_str());
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(class_of(error.type()), error.what());
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an argument, or a part of one, has the wrong type or is out of its type's range");
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const Error& error) {
    const nb::object exception = exception_of(error);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(nb::module_&) { nb::register_exception_translator(&translate); }

}  // namespace weir::python
