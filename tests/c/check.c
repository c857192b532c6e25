// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

#include <sched.h>
#include <stdio.h>

// Implements the helpers for the tests of the C interface.

static atomic_int checks, failures;

static const char kernel_source[] =
    "extern \"C\" __global__ void add(int* value, int more) { *value += more; }\n"
    "extern \"C\" __global__ void store(unsigned long long* to, unsigned long long number) { *to = number; }\n"
    "__device__ int factor = 3;\n"
    "template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by * WIDE; }\n";

bool check(bool good, const char* what, const char* file, int line) {
  atomic_fetch_add(&checks, 1);
  if (!good) {
    atomic_fetch_add(&failures, 1);
    printf("%s:%d: FAILED: %s\n", file, line, what);
  }
  return good;
}

bool check_result(weir_result expected, const char* words, weir_result got, const char* call, const char* file, int line) {
  const char* const message = weir_last_error_message();
  bool good = got == expected;
  if (good && expected != WEIR_SUCCESS) {
    const size_t name = strcspn(call, "(");
    good = strncmp(message, call, name) == 0 && message[name] == ':' && strstr(message, words) != NULL;
  }
  if (!check(good, call, file, line)) {
    printf("  expected %s \"%s\", got %s: %s\n", weir_result_name(expected), words, weir_result_name(got),
           got == WEIR_SUCCESS ? "" : message);
  }
  return got == WEIR_SUCCESS;
}

bool check_needs(weir_feature feature, weir_result got, const char* call, const char* file, int line) {
  if (has(feature)) return check_result(WEIR_SUCCESS, "", got, call, file, line);
  const char* reason = NULL;
  OK(weir_device_get_feature(test_device(), feature, NULL, &reason));
  check_result(WEIR_ERROR_UNSUPPORTED, reason, got, call, file, line);
  return false;
}

weir_device* test_device(void) {
  static weir_device* _Atomic device;
  if (device == NULL) {
    weir_device* found = NULL;
    if (!OK(weir_device_get_default(&found))) exit(1);
    device = found;
  }
  return device;
}

weir_stream* new_stream(void) {
  weir_stream* stream = NULL;
  OK(weir_stream_create(test_device(), NULL, &stream));
  return stream;
}

weir_allocation* new_pinned(size_t bytes) {
  weir_allocation* memory = NULL;
  OK(weir_allocation_create(test_device(), bytes, WEIR_MEMORY_PINNED, &memory));
  memset(weir_allocation_data(memory), 0, bytes);
  return memory;
}

bool has(weir_feature feature) { return weir_device_supports(test_device(), feature); }

bool can_capture(weir_stream* stream) {
  if (!NEEDS(WEIR_FEATURE_GRAPH_CAPTURE, weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL))) return false;
  return OK(weir_stream_discard_capture(stream));
}

bool is_host(void) { return strcmp(weir_backend_name(weir_device_backend(test_device())), "host") == 0; }

weir_module* test_module(void) {
  static weir_module* module;  // owned until the process ends
  static bool asked;
  if (!asked) {
    asked = true;
    const weir_text_pair define = {"WIDE", "1"};
    const char* const kernels[] = {"scale<float>"};
    const weir_compile_options options = {.struct_size = sizeof(options),
                                          .name = "test.cu",
                                          .defines = &define,
                                          .define_count = 1,
                                          .kernels = kernels,
                                          .kernel_count = 1};
    if (weir_module_compile(test_device(), kernel_source, &options, &module) != WEIR_SUCCESS)
      printf("no kernels: %s\n", weir_last_error_message());
  }
  return module;
}

weir_kernel* test_kernel(const char* name) {
  weir_kernel* kernel = NULL;
  OK(weir_module_get_kernel(test_module(), name, &kernel));
  return kernel;
}

static void wait_for_opening(void* user_data) {
  latch* const held = user_data;
  atomic_store(&held->reached, true);
  while (!atomic_load(&held->open)) sched_yield();
}

void hold(weir_stream* stream, latch* held) {
  atomic_init(&held->open, false);
  atomic_init(&held->reached, false);
  OK(weir_stream_launch_host_function(stream, wait_for_opening, NULL, held));
}

void open_latch(latch* held) { atomic_store(&held->open, true); }

void count_call(void* user_data) { atomic_fetch_add(&((counted*)user_data)->calls, 1); }
void count_destroy(void* user_data) { atomic_fetch_add(&((counted*)user_data)->destroyed, 1); }
void count_status(weir_stream* stream, weir_result status, void* user_data) {
  CHECK(weir_stream_device(stream) == test_device() && status == WEIR_SUCCESS);
  count_call(user_data);
}

static const struct {
  const char* name;
  void (*run)(void);
} tests[] = {
    {"base", test_base},
    {"arguments", test_arguments},
    {"structures", test_structures},
    {"devices", test_devices},
    {"objects", test_objects},
    {"launch_kinds", test_launch_kinds},
    {"launch_opaque", test_launch_opaque},  // a race to the eyes of tools
};

int main(int argc, char** argv) {
  int ran = 0;
  for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); ++i) {
    if (argc > 1 && strcmp(argv[1], tests[i].name) != 0) continue;
    tests[i].run();
    printf("%s\n", tests[i].name);
    ++ran;
  }
  printf("%d tests on %s, %d checks, %d failed\n", ran, weir_device_describe(test_device()), atomic_load(&checks),
         atomic_load(&failures));
  return ran == 0 || atomic_load(&failures) != 0;
}
