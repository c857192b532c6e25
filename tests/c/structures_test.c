// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Tests that structures can grow: programs built with older and with newer headers work. The sizes here are those of the
// first release, and must never change.

#define FIRST(type, size) _Static_assert(sizeof(type) >= (size), #type " became smaller")
#if UINTPTR_MAX == UINT64_MAX
enum {
  error_size = 72,
  backend_info_size = 56,
  backend_versions_size = 40,
  device_properties_size = 152,
  memory_pool_options_size = 24,
  stream_options_size = 24,
  pending_work_size = 56,
  access_policy_window_size = 40,
  compile_options_size = 104,
  kernel_properties_size = 56,
  launch_config_size = 40,
  portable_memory_size = 40,
};
FIRST(weir_error, error_size);
FIRST(weir_backend_info, backend_info_size);
FIRST(weir_backend_versions, backend_versions_size);
FIRST(weir_device_properties, device_properties_size);
FIRST(weir_memory_pool_options, memory_pool_options_size);
FIRST(weir_stream_options, stream_options_size);
FIRST(weir_pending_work, pending_work_size);
FIRST(weir_access_policy_window, access_policy_window_size);
FIRST(weir_compile_options, compile_options_size);
FIRST(weir_kernel_properties, kernel_properties_size);
FIRST(weir_launch_config, launch_config_size);
FIRST(weir_portable_memory, portable_memory_size);
// These do not grow.
_Static_assert(sizeof(weir_memory_operation) == 32 && sizeof(weir_dim3) == 12 && sizeof(weir_graph_edge) == 8 &&
                   sizeof(weir_interprocess_handle) == 64 && sizeof(weir_text_pair) == 16 &&
                   sizeof(weir_named_memory) == 32,
               "a structure without a size grew");

// A structure with room for what a later release adds.
#define LATER(type)                         \
  union {                                   \
    type now;                               \
    unsigned char bytes[sizeof(type) + 16]; \
  }

void test_structures(void) {
  // A result: the first release's size is enough, less is refused, and what a later release adds is 0.
  LATER(weir_device_properties) properties;
  memset(&properties, 0xff, sizeof(properties));
  properties.now.struct_size = device_properties_size;
  OK(weir_device_get_properties(test_device(), &properties.now));
  CHECK(properties.now.struct_size == device_properties_size && properties.bytes[sizeof(properties.now)] == 0xff);
  properties.now.struct_size = device_properties_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "properties->struct_size is 151",
        weir_device_get_properties(test_device(), &properties.now));
  properties.now.struct_size = SIZE_MAX / 3;  // never set
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "properties->struct_size is",
        weir_device_get_properties(test_device(), &properties.now));
  properties.now.struct_size = sizeof(properties.bytes);
  OK(weir_device_get_properties(test_device(), &properties.now));
  CHECK(properties.now.struct_size == sizeof(properties.bytes));
  for (size_t i = sizeof(properties.now); i < sizeof(properties.bytes); ++i) CHECK(properties.bytes[i] == 0);

  // Options: likewise; what this library does not know must be 0.
  LATER(weir_stream_options) options;
  memset(&options, 0, sizeof(options));
  weir_stream* stream = NULL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "options->struct_size is 0", weir_stream_create(test_device(), &options.now, &stream));
  options.now.struct_size = stream_options_size;
  OK(weir_stream_create(test_device(), &options.now, &stream));
  weir_stream_release(stream);
  options.now.struct_size = sizeof(options.bytes);
  OK(weir_stream_create(test_device(), &options.now, &stream));
  weir_stream_release(stream);
  stream = NULL;
  options.bytes[sizeof(options.bytes) - 1] = 1;
  FAILS(WEIR_ERROR_UNSUPPORTED, "options that this library", weir_stream_create(test_device(), &options.now, &stream));
  CHECK(stream == NULL);

  // Every other structure takes its first size, and nothing less.
  weir_error error = {.struct_size = error_size};
  OK(weir_last_error(&error));
  error.struct_size = error_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 71", weir_last_error(&error));
  weir_backend_info info = {.struct_size = backend_info_size};
  OK(weir_backend_probe("host", &info));
  info.struct_size = backend_info_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 55", weir_backend_probe("host", &info));
  weir_backend_versions versions = {.struct_size = backend_versions_size};
  OK(weir_backend_get_versions(weir_device_backend(test_device()), &versions));
  versions.struct_size = backend_versions_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 39",
        weir_backend_get_versions(weir_device_backend(test_device()), &versions));
  weir_memory_pool_options pool_options = {.struct_size = memory_pool_options_size - 1};
  weir_memory_pool* pool = NULL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 23", weir_memory_pool_create(test_device(), &pool_options, &pool));
  weir_compile_options compilation = {.struct_size = compile_options_size - 1};
  weir_module* module = NULL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 103", weir_module_compile(test_device(), "", &compilation, &module));
  weir_launch_config config = {.struct_size = launch_config_size};
  OK(weir_grid_for(1, 1, &config));
  config.struct_size = launch_config_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 39", weir_grid_for(1, 1, &config));
  stream = new_stream();
  weir_pending_work work = {.struct_size = pending_work_size};
  OK(weir_stream_pending(stream, &work, NULL));
  work.struct_size = pending_work_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 55", weir_stream_pending(stream, &work, NULL));
  weir_access_policy_window window = {.struct_size = access_policy_window_size - 1};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 39", weir_stream_set_access_policy_window(stream, &window));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 39", weir_stream_get_access_policy_window(stream, &window));
  weir_stream_release(stream);
  if (test_module() == NULL) return;
  weir_kernel* const kernel = test_kernel("add");
  weir_kernel_properties limits = {.struct_size = kernel_properties_size};
  OK(weir_kernel_get_properties(kernel, &limits));
  limits.struct_size = kernel_properties_size - 1;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "struct_size is 55", weir_kernel_get_properties(kernel, &limits));
  weir_kernel_release(kernel);
}
#else
void test_structures(void) {}
#endif
