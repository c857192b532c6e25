// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Tests that structures can grow: programs built with older and with newer headers work. The sizes here are those of the
// first release, and must never change.
#if UINTPTR_MAX == UINT64_MAX

#define FIRST(type, size)        \
  enum { type##_size = (size) }; \
  _Static_assert(sizeof(type) >= type##_size, #type " became smaller")
FIRST(weir_error, 72);
FIRST(weir_backend_info, 56);
FIRST(weir_backend_versions, 40);
FIRST(weir_device_properties, 152);
FIRST(weir_memory_pool_options, 24);
FIRST(weir_stream_options, 24);
FIRST(weir_pending_work, 56);
FIRST(weir_access_policy_window, 40);
FIRST(weir_compile_options, 104);
FIRST(weir_kernel_properties, 56);
FIRST(weir_launch_config, 40);
FIRST(weir_portable_memory, 40);
// These do not grow.
_Static_assert(sizeof(weir_memory_operation) == 32 && sizeof(weir_dim3) == 12 && sizeof(weir_graph_edge) == 8 &&
                   sizeof(weir_interprocess_handle) == 64 && sizeof(weir_text_pair) == 16 && sizeof(weir_named_memory) == 32,
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
  properties.now.struct_size = weir_device_properties_size;
  OK(weir_device_get_properties(test_device(), &properties.now));
  CHECK(properties.now.struct_size == weir_device_properties_size && properties.bytes[sizeof(properties.now)] == 0xff);
  properties.now.struct_size = weir_device_properties_size - 1;
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
  options.now.struct_size = weir_stream_options_size;
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
#define REFUSES_LESS(type, call)                                  \
  do {                                                            \
    type one = {.struct_size = type##_size - 1};                  \
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "->struct_size is", call); \
  } while (0)
#define TAKES(type, call)                    \
  do {                                       \
    type one = {.struct_size = type##_size}; \
    OK(call);                                \
    REFUSES_LESS(type, call);                \
  } while (0)
  weir_backend* const backend = weir_device_backend(test_device());
  stream = new_stream();
  weir_memory_pool* pool = NULL;
  weir_module* module = NULL;
  TAKES(weir_error, weir_last_error(&one));
  TAKES(weir_backend_info, weir_backend_probe("host", &one));
  TAKES(weir_backend_versions, weir_backend_get_versions(backend, &one));
  TAKES(weir_launch_config, weir_grid_for(1, 1, &one));
  TAKES(weir_pending_work, weir_stream_pending(stream, &one, NULL));
  REFUSES_LESS(weir_memory_pool_options, weir_memory_pool_create(test_device(), &one, &pool));
  REFUSES_LESS(weir_compile_options, weir_module_compile(test_device(), "", &one, &module));
  REFUSES_LESS(weir_access_policy_window, weir_stream_set_access_policy_window(stream, &one));
  REFUSES_LESS(weir_access_policy_window, weir_stream_get_access_policy_window(stream, &one));
  weir_stream_release(stream);
  if (test_module() == NULL) return;
  weir_kernel* const kernel = test_kernel("add");
  TAKES(weir_kernel_properties, weir_kernel_get_properties(kernel, &one));
  weir_kernel_release(kernel);
}
#else
void test_structures(void) {}
#endif
