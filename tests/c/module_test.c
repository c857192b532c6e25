// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "tests/c/check.h"

// Modules, kernels, launches, and kernels that fail.

void test_modules(void) {
  weir_module* module = NULL;
  if (!has(WEIR_FEATURE_RUNTIME_COMPILATION)) {
    NEEDS(WEIR_FEATURE_RUNTIME_COMPILATION, weir_module_compile(test_device(), "", NULL, &module));
    return;
  }
  FAILS(WEIR_ERROR_COMPILATION_FAILED, "mistake.cu",
        weir_module_compile(test_device(), "nonsense",
                            &(weir_compile_options){.struct_size = sizeof(weir_compile_options), .name = "mistake.cu"},
                            &module));
  const weir_text_pair header = {"three.cuh", "#define THREE 3\n"}, incomplete = {"NAME", NULL};
  const char* const folder = "/usr/include";
  weir_compile_options options = {.struct_size = sizeof(options),
                                  .headers = &header,
                                  .header_count = 1,
                                  .include_directories = &folder,
                                  .include_directory_count = 1,
                                  .cxx_standard = 20,
                                  .flags = WEIR_COMPILE_FAST_MATH};
  const char* const source =
      "#include \"three.cuh\"\nextern \"C\" __global__ void set(int* x) { *x = THREE + (__cplusplus >= 202002L); }";
  OK(weir_module_compile(test_device(), source, &options, &module));
  CHECK(weir_module_device(module) == test_device() && weir_module_native_handle(module) != NULL);
  weir_kernel* kernel = NULL;
  OK(weir_module_get_kernel(module, "set", &kernel));
  CHECK(weir_kernel_module(kernel) == module);
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(sizeof(int));
  int* const value = weir_allocation_data(memory);
  void* arguments[] = {(void*)&value};
  weir_launch_config config = {.struct_size = sizeof(config)};
  OK(weir_grid_for(1, 1, &config));
  OK(weir_stream_launch(stream, kernel, &config, arguments, NULL, 1));
  OK(weir_stream_synchronize(stream));
  CHECK(*value == 4);
  weir_kernel_release(kernel);
  CHECK(weir_module_retain(module) == module);
  weir_module_release(module);
  weir_module_release(module);
  weir_stream_release(stream);
  weir_allocation_release(memory);

  module = NULL;
  options.flags = 4;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "options->flags", weir_module_compile(test_device(), source, &options, &module));
  options = (weir_compile_options){.struct_size = sizeof(options), .defines = &incomplete, .define_count = 1};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "options->defines", weir_module_compile(test_device(), source, &options, &module));
  options = (weir_compile_options){.struct_size = sizeof(options), .extra_count = 1};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "options->extra", weir_module_compile(test_device(), source, &options, &module));

  // Images.
  FAILS(WEIR_ERROR_INVALID_IMAGE, "", weir_module_load(test_device(), NULL, 0, &module));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "image is null", weir_module_load(test_device(), NULL, 1, &module));
  FAILS(WEIR_ERROR_INVALID_IMAGE, "", weir_module_load(test_device(), "no image at all", 15, &module));
  FAILS(WEIR_ERROR_INVALID_IMAGE, "", weir_module_load_bundle(test_device(), "no bundle at all", 16, &module));
  if (test_module() == NULL) return;
  void* address = NULL;
  size_t bytes = 0;
  OK(weir_module_get_global(test_module(), "factor", &address, &bytes));
  OK(weir_module_get_global(test_module(), "factor", NULL, NULL));
  int factor = 0;
  OK(weir_device_copy(test_device(), &factor, address, sizeof(factor)));
  CHECK(bytes == sizeof(int) && factor == 3);
  FAILS(WEIR_ERROR_KERNEL_NOT_FOUND, "nosuch", weir_module_get_global(test_module(), "nosuch", &address, &bytes));
  weir_device_properties properties = {.struct_size = sizeof(properties)};
  OK(weir_device_get_properties(test_device(), &properties));
  char architecture[64];
  snprintf(architecture, sizeof(architecture), "%.*s", (int)strcspn(properties.architecture, ":"), properties.architecture);
  void* image = NULL;
  char* log = NULL;
  if (is_host() && strcmp(architecture, "x86-64") != 0) return;
  OK(weir_compile_image(weir_backend_name(weir_device_backend(test_device())), architecture,
                        "extern \"C\" __global__ void set(int* x) { *x = 1; }", NULL, &image, &bytes, &log));
  CHECK(bytes > 0 && log != NULL);
  OK(weir_module_load(test_device(), image, bytes, &module));
  OK(weir_module_get_kernel(module, "set", &kernel));
  weir_kernel_release(kernel);
  weir_module_release(module);
  weir_free(image);
  weir_free(log);
}

void test_launches(void) {
  if (test_module() == NULL) return;
  weir_stream* const stream = new_stream();
  weir_kernel* const saxpy = test_kernel("saxpy");
  weir_allocation* const memory = new_pinned(8192);
  float* x = weir_allocation_data(memory);
  float* y = x + 1024;
  for (int i = 0; i < 1000; ++i) x[i] = (float)i;

  CHECK(strcmp(weir_kernel_name(saxpy), "saxpy") == 0 && weir_kernel_native_handle(saxpy) != NULL);
  CHECK(weir_kernel_module(saxpy) == test_module() && weir_kernel_retain(saxpy) == saxpy);
  weir_kernel_release(saxpy);
  weir_kernel* none = NULL;
  FAILS(WEIR_ERROR_KERNEL_NOT_FOUND, "saxpi", weir_module_get_kernel(test_module(), "saxpi", &none));
  weir_kernel_properties properties = {.struct_size = sizeof(properties)};
  OK(weir_kernel_get_properties(saxpy, &properties));
  CHECK(properties.max_threads_per_block > 0 && properties.tier != NULL);
  int32_t blocks = 0;
  uint32_t threads = 0;
  OK(weir_kernel_max_active_blocks(saxpy, 128, 0, &blocks));
  OK(weir_kernel_suggested_block_size(saxpy, 0, &threads));
  CHECK(blocks > 0 && threads > 0);

  unsigned n = 1000;
  float a = 2;
  void* arguments[] = {&n, &a, (void*)&x, (void*)&y};
  const size_t sizes[] = {sizeof(n), sizeof(a), sizeof(x), sizeof(y)};
  weir_launch_config config = {.struct_size = sizeof(config), .flags = 99};
  OK(weir_grid_for(n, 128, &config));
  CHECK(config.grid.x == 8 && config.grid.y == 1 && config.block.x == 128 && config.flags == 0);
  OK(weir_stream_launch(stream, saxpy, &config, arguments, sizes, 4));
  OK(weir_stream_synchronize(stream));
  CHECK(y[999] == 1998 && y[1000] == 0);

  size_t known[8], count = 0;
  if (weir_kernel_get_parameter_sizes(saxpy, 8, known, &count) == WEIR_SUCCESS) {
    CHECK(count == 4 && memcmp(known, sizes, sizeof(sizes)) == 0);
    OK(weir_stream_launch(stream, saxpy, &config, arguments, NULL, 4));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "takes 4 arguments", weir_stream_launch(stream, saxpy, &config, arguments, NULL, 3));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "takes 4 arguments", weir_stream_launch(stream, saxpy, &config, arguments, sizes, 3));
    const size_t wrong[] = {sizeof(n), sizeof(double), sizeof(x), sizeof(y)};
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "argument 2", weir_stream_launch(stream, saxpy, &config, arguments, wrong, 4));
  }
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "arguments is null", weir_stream_launch(stream, saxpy, &config, NULL, sizes, 4));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "config is null", weir_stream_launch(stream, saxpy, NULL, arguments, sizes, 4));
  config.block.x = 1 << 20;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "threads", weir_stream_launch(stream, saxpy, &config, arguments, sizes, 4));
  config.block.x = 0;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "threads", weir_stream_launch(stream, saxpy, &config, arguments, sizes, 4));
  config = (weir_launch_config){.struct_size = sizeof(config), .grid = {1, 0, 0}, .block = {1, 0, 0}, .flags = 8};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "config->flags", weir_stream_launch(stream, saxpy, &config, arguments, sizes, 4));
  config.flags = WEIR_LAUNCH_COOPERATIVE;
  NEEDS(WEIR_FEATURE_COOPERATIVE_LAUNCH, weir_stream_launch(stream, saxpy, &config, arguments, sizes, 4));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "", weir_grid_for(1, 0, &config));

  // An instance of a template.
  weir_kernel* const scale = test_kernel("scale<float>");
  void* scaling[] = {(void*)&y, &a};
  config = (weir_launch_config){.struct_size = sizeof(config), .grid = {1, 0, 0}, .block = {4, 0, 0}};
  OK(weir_stream_synchronize(stream));
  y[3] = 5;
  OK(weir_stream_launch(stream, scale, &config, scaling, (const size_t[]){sizeof(y), sizeof(a)}, 2));
  OK(weir_stream_synchronize(stream));
  CHECK(y[3] == 10);

  weir_kernel_release(scale);
  weir_kernel_release(saxpy);
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

static void count_callback(weir_stream* stream, weir_result status, void* user_data) {
  (void)stream, (void)status;
  count_call(user_data);
}

// On a GPU the context would be lost; and a sanitizer's own handlers come first.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HANDLES_FAULTS false
#else
#define HANDLES_FAULTS true
#endif
void test_faults(void) {
  if (!HANDLES_FAULTS || !is_host() || test_module() == NULL) return;
  weir_stream* const stream = new_stream();
  weir_kernel* const fault = test_kernel("fault");
  int* nowhere = NULL;
  void* arguments[] = {(void*)&nowhere};
  const weir_launch_config one = {.struct_size = sizeof(one), .grid = {1, 0, 0}, .block = {1, 0, 0}};
  counted function = {0}, callback = {0};
  OK(weir_stream_launch(stream, fault, &one, arguments, NULL, 1));
  OK(weir_stream_launch_host_function(stream, count_call, count_destroy, &function));
  OK(weir_stream_add_callback(stream, count_callback, count_destroy, &callback));
  FAILS(WEIR_ERROR_DEVICE_FAULT, "fault", weir_stream_synchronize(stream));
  CHECK(atomic_load(&callback.calls) == 1 && atomic_load(&function.calls) == 1);  // on the CPU only the launch failed
  weir_stream_release(stream);
  OK(weir_device_synchronize(test_device()));
  CHECK(atomic_load(&function.destroyed) == 1 && atomic_load(&callback.destroyed) == 1);
  weir_kernel_release(fault);
}
