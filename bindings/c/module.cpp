// SPDX-License-Identifier: Apache-2.0
#include "weir/module.hpp"

#include "bindings/c/convert.hpp"
#include "weir/device.hpp"
#include "weir/kernel_bundle.hpp"
#include "weir/registry.hpp"
#include "weir/stream.hpp"

// The C interface: modules, kernels and launches (weir/c/module.h).
namespace weir::c {
namespace {

std::span<const std::byte> bytes(const void* data, std::size_t count, const char* name) {
  return {elements(static_cast<const std::byte*>(data), count, name), count};
}

void add(std::vector<std::string>& list, const char* const* texts, std::size_t count, const char* name) {
  elements(texts, count, name);
  for (std::size_t i = 0; i < count; ++i) list.emplace_back(text(texts[i], name));
}

void add(std::vector<std::pair<std::string, std::string>>& list, const weir_text_pair* pairs, std::size_t count,
         const char* name) {
  elements(pairs, count, name);
  for (std::size_t i = 0; i < count; ++i) list.emplace_back(text(pairs[i].name, name), text(pairs[i].text, name));
}

CompileOptions compile_options(const weir_compile_options* given) {
  const weir_compile_options wanted = options(given, "options");
  check_flags(wanted.flags, WEIR_COMPILE_FAST_MATH | WEIR_COMPILE_DEBUG, "options->flags");
  CompileOptions all;
  if (wanted.name != nullptr) all.name = wanted.name;
  add(all.defines, wanted.defines, wanted.define_count, "options->defines");
  add(all.include_directories, wanted.include_directories, wanted.include_directory_count, "options->include_directories");
  add(all.headers, wanted.headers, wanted.header_count, "options->headers");
  add(all.kernels, wanted.kernels, wanted.kernel_count, "options->kernels");
  add(all.extra, wanted.extra, wanted.extra_count, "options->extra");
  if (wanted.cxx_standard != 0) all.cxx_standard = wanted.cxx_standard;
  all.fast_math = (wanted.flags & WEIR_COMPILE_FAST_MATH) != 0;
  all.debug = (wanted.flags & WEIR_COMPILE_DEBUG) != 0;
  return all;
}

Dim3 extent_of(const weir_dim3& given) { return {given.x, given.y != 0 ? given.y : 1U, given.z != 0 ? given.z : 1U}; }
Dim3 cluster_of(weir_dim3 given) {
  if (given.x == 0) given.x = 1;
  return extent_of(given);
}

}  // namespace

LaunchConfig launch_config(const weir_launch_config* given) {
  const weir_launch_config wanted = options(&output(given, "config"), "config");
  constexpr std::uint32_t programmatic = WEIR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION;
  check_flags(wanted.flags, WEIR_LAUNCH_COOPERATIVE | programmatic | WEIR_LAUNCH_PRIORITY, "config->flags");
  LaunchConfig config{.grid = extent_of(wanted.grid),
                      .block = extent_of(wanted.block),
                      .shared_memory_bytes = wanted.shared_memory_bytes,
                      .cooperative = (wanted.flags & WEIR_LAUNCH_COOPERATIVE) != 0,
                      .programmatic_stream_serialization = (wanted.flags & programmatic) != 0,
                      .cluster = cluster_of(wanted.cluster)};
  if ((wanted.flags & WEIR_LAUNCH_PRIORITY) != 0) config.priority = wanted.priority;
  return config;
}

namespace {

ParameterKind kind_of(weir_argument_kind kind) {
  switch (kind) {
    case WEIR_ARGUMENT_VALUE: return ParameterKind::value;
    case WEIR_ARGUMENT_INTEGER: return ParameterKind::integer;
    case WEIR_ARGUMENT_FLOATING: return ParameterKind::floating;
    case WEIR_ARGUMENT_ADDRESS: return ParameterKind::address;
    case WEIR_ARGUMENT_OPAQUE: return ParameterKind::unknown;
  }
  throw_unknown_enumerator("an element of kinds", static_cast<unsigned>(kind));
}

}  // namespace

std::vector<Parameter> parameters_of(const Kernel& kernel, const size_t* sizes, const weir_argument_kind* kinds,
                                     std::size_t count) {
  const std::span known = kernel.parameters();
  if (sizes == nullptr && !kernel.has_parameter_sizes())
    throw_invalid("sizes is null, but the driver cannot report the parameters of kernel '" + kernel.name() +
                  "'; pass sizes");
  if (sizes == nullptr && known.size() != count) {
    throw_invalid("kernel '" + kernel.name() + "' takes " + std::to_string(known.size()) + " arguments, and " +
                  std::to_string(count) + " were given");
  }
  std::vector<Parameter> parameters(count);
  for (std::size_t i = 0; i < count; ++i) {
    Parameter& parameter = parameters[i];
    parameter.size = sizes != nullptr ? static_cast<std::uint32_t>(std::min<size_t>(sizes[i], UINT32_MAX)) : known[i].size;
    if (kinds != nullptr) parameter.kind = kind_of(kinds[i]);
    if (parameter.kind == ParameterKind::address && parameter.size != sizeof(void*)) {
      throw_invalid("argument " + std::to_string(i + 1) + " is an address, and has " + std::to_string(parameter.size) +
                    " bytes");
    }
  }
  return parameters;
}

}  // namespace weir::c

using namespace weir::c;

// --- Modules ------------------------------------------------------------------------------------------------------------

weir_result weir_module_compile(weir_device* device, const char* source, const weir_compile_options* options,
                                weir_module** module) {
  return give(__func__, module, "module",
              [&] { return handle(required(device, "device").compile(text(source, "source"), compile_options(options))); });
}

weir_result weir_module_load(weir_device* device, const void* image, size_t bytes, weir_module** module) {
  return give(__func__, module, "module",
              [&] { return handle(required(device, "device").load_module(weir::c::bytes(image, bytes, "image"))); });
}

weir_result weir_module_load_bundle(weir_device* device, const void* bundle, size_t bytes, weir_module** module) {
  return give(__func__, module, "module", [&] {
    return handle(required(device, "device").load(weir::KernelBundle(weir::c::bytes(bundle, bytes, "bundle"))));
  });
}

weir_result weir_compile_image(const char* backend, const char* architecture, const char* source,
                               const weir_compile_options* options, void** image, size_t* bytes, char** log) {
  return give(__func__, image, "image", [&] {
    auto& size = output(bytes, "bytes");
    std::string warnings;
    const auto code = weir::Registry::instance().compile_image(text(backend, "backend"), text(architecture, "architecture"),
                                                               text(source, "source"), compile_options(options), &warnings);
    void* const copy = new_bytes(code.data(), code.size());
    if (log != nullptr) {
      try {
        *log = new_text(warnings);
      } catch (...) {
        weir_free(copy);
        throw;
      }
    }
    size = code.size();
    return copy;
  });
}

weir_module* weir_module_retain(weir_module* module) { return retain(module); }
void weir_module_release(weir_module* module) { release(module); }

weir_device* weir_module_device(const weir_module* module) { return device_of(module); }

void* weir_module_native_handle(const weir_module* module) { return native_handle_of(module); }

weir_result weir_module_get_global(weir_module* module, const char* name, void** address, size_t* bytes) {
  return call(__func__, [&] {
    const weir::Span<std::byte> global = required(module, "module").global(text(name, "name"));
    if (address != nullptr) *address = global.data();
    if (bytes != nullptr) *bytes = global.size();
  });
}

// --- Kernels ------------------------------------------------------------------------------------------------------------

weir_result weir_module_get_kernel(weir_module* module, const char* name, weir_kernel** kernel) {
  return give(__func__, kernel, "kernel",
              [&] { return handle(required(module, "module").untyped_kernel(text(name, "name"))); });
}

weir_kernel* weir_kernel_retain(weir_kernel* kernel) { return retain(kernel); }
void weir_kernel_release(weir_kernel* kernel) { release(kernel); }

const char* weir_kernel_name(const weir_kernel* kernel) {
  return kernel != nullptr ? object(kernel)->name().c_str() : nullptr;
}

weir_module* weir_kernel_module(const weir_kernel* kernel) {
  return kernel != nullptr ? handle(object(kernel)->module().get()) : nullptr;
}

void* weir_kernel_native_handle(const weir_kernel* kernel) { return native_handle_of(kernel); }

weir_result weir_kernel_get_parameter_sizes(const weir_kernel* kernel, size_t capacity, size_t* sizes, size_t* count) {
  return give(__func__, count, "count", [&] {
    elements(sizes, capacity, "sizes");
    const weir::Kernel& asked = required(kernel, "kernel");
    if (!asked.has_parameter_sizes())
      throw Refused{weir::Errc::unsupported, "the driver cannot report a kernel's parameters"};
    for (size_t i = 0; i < std::min(capacity, asked.parameters().size()); ++i) sizes[i] = asked.parameters()[i].size;
    return asked.parameters().size();
  });
}

weir_result weir_kernel_get_properties(const weir_kernel* kernel, weir_kernel_properties* properties) {
  return give(__func__, properties, "properties", [&] {
    const weir::KernelProperties known = required(kernel, "kernel").properties();
    weir_kernel_properties all{};
    all.static_shared_memory_bytes = known.static_shared_memory_bytes;
    all.local_memory_bytes = known.local_memory_bytes;
    all.constant_memory_bytes = known.constant_memory_bytes;
    all.max_threads_per_block = known.max_threads_per_block;
    all.registers_per_thread = known.registers_per_thread;
    all.ptx_version = known.ptx_version;
    all.binary_version = known.binary_version;
    all.tier = known.tier.empty() ? "" : known.tier.data();
    return all;
  });
}

weir_result weir_kernel_max_active_blocks(const weir_kernel* kernel, uint32_t block_threads, size_t shared_memory_bytes,
                                          int32_t* blocks) {
  return give(__func__, blocks, "blocks",
              [&] { return required(kernel, "kernel").max_active_blocks(block_threads, shared_memory_bytes); });
}

weir_result weir_kernel_suggested_block_size(const weir_kernel* kernel, size_t shared_memory_bytes,
                                             uint32_t* block_threads) {
  return give(__func__, block_threads, "block_threads",
              [&] { return required(kernel, "kernel").suggested_block_size(shared_memory_bytes); });
}

// --- Launches -----------------------------------------------------------------------------------------------------------

weir_result weir_grid_for(size_t count, uint32_t block_threads, weir_launch_config* config) {
  return give(__func__, config, "config", [&] {
    const weir::LaunchConfig shape = weir::grid_for(count, block_threads);
    weir_launch_config all{};
    all.grid = {shape.grid.x, shape.grid.y, shape.grid.z};
    all.block = {shape.block.x, shape.block.y, shape.block.z};
    return all;
  });
}

weir_result weir_stream_launch(weir_stream* stream, weir_kernel* kernel, const weir_launch_config* config,
                               void* const* arguments, const size_t* sizes, size_t count) {
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    const weir::Kernel& launched = required(kernel, "kernel");
    const weir::LaunchConfig shape = launch_config(config);
    elements(arguments, count, "arguments");
    target.launch_raw(launched, shape, {arguments, count}, parameters_of(launched, sizes, nullptr, count));
  });
}

weir_result weir_stream_launch_typed(weir_stream* stream, weir_kernel* kernel, const weir_launch_config* config,
                                     void* const* arguments, const size_t* sizes, const weir_argument_kind* kinds,
                                     size_t count) {
  return call(__func__, [&] {
    weir::Stream& target = required(stream, "stream");
    const weir::Kernel& launched = required(kernel, "kernel");
    const weir::LaunchConfig shape = launch_config(config);
    elements(arguments, count, "arguments");
    elements(kinds, count, "kinds");
    target.launch_raw(launched, shape, {arguments, count}, parameters_of(launched, sizes, kinds, count));
  });
}
