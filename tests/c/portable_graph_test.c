// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/c/check.h"

// Tests graphs that are saved and loaded.

enum { elements = 64 };

static const weir_launch_config one = {.struct_size = sizeof(weir_launch_config), .grid = {1, 0, 0}, .block = {1, 0, 0}};

// x = 7, y = x, *y += 5, and a call of "report".
static weir_graph* captured(weir_stream* stream, uint32_t* x, uint32_t* y, counted* report) {
  weir_graph* graph = NULL;
  weir_kernel* const add = test_kernel("add");
  int more = 5;
  void* arguments[] = {(void*)&y, &more};
  const size_t sizes[] = {sizeof(y), sizeof(more)};
  const weir_argument_kind kinds[] = {WEIR_ARGUMENT_ADDRESS, WEIR_ARGUMENT_INTEGER};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "mode is 3", weir_stream_begin_portable_capture(stream, (weir_capture_mode)3));
  OK(weir_stream_begin_portable_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_fill(stream, x, 7, 4, elements));
  OK(weir_stream_copy(stream, y, x, elements * sizeof(*x)));
  OK(weir_stream_launch_typed(stream, add, &one, arguments, sizes, kinds, 2));
  if (has(WEIR_FEATURE_HOST_FUNCTIONS_IN_CAPTURE))
    OK(weir_stream_launch_named_host_function(stream, "report", count_call, count_destroy, report));
  OK(weir_stream_end_capture(stream, &graph));
  weir_kernel_release(add);
  return graph;
}

static void check_memory(weir_portable_graph* graph, const char* name, size_t index, size_t bytes, weir_memory_role role,
                         void* data) {
  weir_portable_memory memory = {.struct_size = sizeof(memory)};
  char* text = NULL;
  OK(weir_portable_graph_get_memory(graph, index, &memory, &text));
  CHECK(strcmp(text, name) == 0 && memory.bytes == bytes && memory.role == role && memory.data == data);
  CHECK(memory.kind == WEIR_MEMORY_PINNED && memory.alignment > 0 && memory.alignment <= 256);
  weir_free(text);
}

// Runs what was loaded in memory of its own.
static void run_loaded(weir_stream* stream, weir_portable_graph* loaded) {
  weir_allocation* const memory = new_pinned(4096);
  uint32_t* const y = weir_allocation_data(memory);
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  counted report = {0};
  char* text = NULL;
  size_t count = 0;
  const bool calls = has(WEIR_FEATURE_HOST_FUNCTIONS_IN_CAPTURE);

  CHECK(weir_portable_graph_device(loaded) == test_device() && weir_portable_graph_retain(loaded) == loaded);
  weir_portable_graph_release(loaded);
  CHECK(strchr(weir_portable_graph_captured_on(loaded), ' ') != NULL);
  OK(weir_portable_graph_describe(loaded, &text));
  CHECK(strstr(text, "portable graph") != NULL);
  weir_free(text);
  OK(weir_portable_graph_memory_count(loaded, &count));
  CHECK(count == 2);
  check_memory(loaded, "x", 0, elements * sizeof(*y), WEIR_ROLE_SCRATCH, NULL);
  check_memory(loaded, "y", 1, elements * sizeof(*y), WEIR_ROLE_BOUND, NULL);
  OK(weir_portable_graph_get_memory(loaded, 1, NULL, NULL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "index is 2", weir_portable_graph_get_memory(loaded, 2, NULL, NULL));
  OK(weir_portable_graph_host_function_count(loaded, &count));
  CHECK(count == (calls ? 1 : 0));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "index is 1", weir_portable_graph_get_host_function(loaded, 1, &text));

  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "'y'", weir_portable_graph_build(loaded, &graph));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "'z'", weir_portable_graph_bind_memory(loaded, "z", y, 4096));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "bytes", weir_portable_graph_bind_memory(loaded, "y", y, 4));
  OK(weir_portable_graph_bind_memory(loaded, "y", y, 4096));
  check_memory(loaded, "y", 1, elements * sizeof(*y), WEIR_ROLE_BOUND, y);
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "'nosuch'",
        weir_portable_graph_bind_host_function(loaded, "nosuch", count_call, count_destroy, &report));
  CHECK(atomic_load(&report.destroyed) == 1);
  if (calls) {
    OK(weir_portable_graph_get_host_function(loaded, 0, &text));
    CHECK(strcmp(text, "report") == 0);
    weir_free(text);
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "'report'", weir_portable_graph_build(loaded, &graph));
    OK(weir_portable_graph_bind_host_function(loaded, "report", count_call, count_destroy, &report));
  }
  OK(weir_portable_graph_build(loaded, &graph));
  OK(weir_graph_instantiate(graph, WEIR_INSTANTIATE_DEFAULT, &exec));
  weir_graph_release(graph);
  weir_portable_graph_release(loaded);
  for (int i = 0; i < 3; ++i) OK(weir_graph_exec_launch(exec, stream));
  OK(weir_stream_synchronize(stream));
  CHECK(y[0] == 12 && y[1] == 7 && y[elements - 1] == 7);
  CHECK(atomic_load(&report.calls) == (calls ? 3 : 0) && atomic_load(&report.destroyed) == 1);
  weir_graph_exec_release(exec);
  weir_allocation_release(memory);
  for (int i = 0; i < 1000000 && calls && atomic_load(&report.destroyed) != 2; ++i) sched_yield();
  CHECK(atomic_load(&report.destroyed) == (calls ? 2 : 1));
}

static void check_refusals(weir_stream* stream, uint32_t* x, const weir_named_memory* names) {
  weir_graph* graph = NULL;
  void* bytes = NULL;
  size_t size = 0;
  weir_kernel* const add = test_kernel("add");
  int more = 5;
  void* arguments[] = {(void*)&x, &more};
  const size_t sizes[] = {sizeof(x), sizeof(more)};

  // Another capture, and an argument of which nothing is known.
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_fill(stream, x, 7, 4, 1));
  OK(weir_stream_end_capture(stream, &graph));
  FAILS(WEIR_ERROR_UNSUPPORTED, "portable", weir_graph_save_bytes(graph, names, 2, &bytes, &size));
  weir_graph_release(graph);
  OK(weir_stream_begin_portable_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_launch(stream, add, &one, arguments, sizes, 2));
  OK(weir_stream_end_capture(stream, &graph));
  FAILS(WEIR_ERROR_UNSUPPORTED, "argument 1", weir_graph_save_bytes(graph, names, 2, &bytes, &size));
  CHECK(bytes == NULL);
  weir_graph_release(graph);

  const weir_argument_kind wrong[] = {WEIR_ARGUMENT_ADDRESS, WEIR_ARGUMENT_ADDRESS};
  const weir_argument_kind none[] = {WEIR_ARGUMENT_ADDRESS, (weir_argument_kind)9};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "argument 2 is an address",
        weir_stream_launch_typed(stream, add, &one, arguments, sizes, wrong, 2));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "kinds is 9", weir_stream_launch_typed(stream, add, &one, arguments, sizes, none, 2));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "kinds is null",
        weir_stream_launch_typed(stream, add, &one, arguments, sizes, NULL, 2));
  const weir_argument_kind floating[] = {WEIR_ARGUMENT_ADDRESS, WEIR_ARGUMENT_FLOATING};
  if (is_host())
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "argument 2",
          weir_stream_launch_typed(stream, add, &one, arguments, sizes, floating, 2));
  weir_kernel_release(add);
}

void test_portable_graphs(void) {
  if (test_module() == NULL) return;
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(8192);
  uint32_t* const x = weir_allocation_data(memory);
  uint32_t* const y = x + 1024;
  weir_portable_graph* loaded = NULL;
  counted report = {0};

  if (can_capture(stream)) {
    weir_graph* const graph = captured(stream, x, y, &report);
    weir_named_memory names[] = {
        {"x", x, elements * sizeof(*x), WEIR_MEMORY_PINNED, WEIR_ROLE_SCRATCH},
        {"y", y, elements * sizeof(*y), WEIR_MEMORY_PINNED, WEIR_ROLE_BOUND},
    };
    void* bytes = NULL;
    size_t size = 0;
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "add its memory", weir_graph_save_bytes(graph, names, 1, &bytes, &size));
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "memory is null", weir_graph_save_bytes(graph, NULL, 2, &bytes, &size));
    names[0].role = (weir_memory_role)3;
    FAILS(WEIR_ERROR_INVALID_ARGUMENT, "role is 3", weir_graph_save_bytes(graph, names, 2, &bytes, &size));
    names[0].role = WEIR_ROLE_SCRATCH;
    OK(weir_graph_save_bytes(graph, names, 2, &bytes, &size));
    CHECK(size > 0);
    OK(weir_device_load_graph_bytes(test_device(), bytes, size, &loaded));
    run_loaded(stream, loaded);
    loaded = NULL;
    FAILS(WEIR_ERROR_INVALID_IMAGE, "", weir_device_load_graph_bytes(test_device(), bytes, size - 1, &loaded));
    weir_free(bytes);

    char file[64];
    snprintf(file, sizeof(file), "/tmp/weir-c-%ld.weirgraph", (long)getpid());
    FAILS(WEIR_ERROR_BACKEND_FAILURE, "", weir_device_load_graph(test_device(), file, &loaded));
    OK(weir_graph_save(graph, file, names, 2));
    OK(weir_device_load_graph(test_device(), file, &loaded));
    run_loaded(stream, loaded);
    remove(file);
    FAILS(WEIR_ERROR_BACKEND_FAILURE, "", weir_graph_save(graph, "/nosuch/folder/file", names, 2));
    weir_graph_release(graph);
    check_refusals(stream, x, names);
  }
  weir_stream_release(stream);
  weir_allocation_release(memory);
}
