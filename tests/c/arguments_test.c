// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Tests arguments that C++ cannot pass: numbers that are no valid enumerator, flag or size, and null where the other
// arguments are right. nulls.sh makes the test of all functions with nothing but 0.

// Refused before anything happens, with the argument's name and its value.
#define IS_WRONG(words, call) FAILS(WEIR_ERROR_INVALID_ARGUMENT, words, call)

static void test_numbers(void) {
  weir_device* const device = test_device();
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  uint32_t* const data = weir_allocation_data(memory);
  weir_stream* no_stream = NULL;
  weir_event* no_event = NULL;
  weir_allocation* no_memory = NULL;
  weir_module* no_module = NULL;

  IS_WRONG("kind is 258", weir_allocation_create(device, 1, (weir_memory_kind)258, &no_memory));
  IS_WRONG("kind is 9", weir_allocation_adopt(device, data, 4, (weir_memory_kind)9, NULL, NULL, &no_memory));
  IS_WRONG("flags has bits", weir_event_create(device, 64, &no_event));
  weir_stream_options options = {.struct_size = sizeof(options), .flags = 2};
  IS_WRONG("flags has bits", weir_stream_create(device, &options, &no_stream));
  options = (weir_stream_options){.struct_size = sizeof(options), .priority = (weir_priority)4};
  IS_WRONG("priority is 4", weir_stream_create(device, &options, &no_stream));
  options = (weir_stream_options){.struct_size = sizeof(options), .priority = WEIR_PRIORITY_NUMBER, .priority_number = 999};
  IS_WRONG("999", weir_stream_create(device, &options, &no_stream));
  IS_WRONG("policy is 9", weir_stream_set_synchronization_policy(stream, (weir_synchronization_policy)9));
  const weir_access_policy_window window = {.struct_size = sizeof(window), .hit = (weir_access_property)3};
  IS_WRONG("window->hit is 3", weir_stream_set_access_policy_window(stream, &window));
  IS_WRONG("mode is 3", weir_stream_begin_capture(stream, (weir_capture_mode)3));
  IS_WRONG("mode is 3", weir_stream_begin_portable_capture(stream, (weir_capture_mode)3));

  IS_WRONG("elements of 3 bytes", weir_stream_fill(stream, data, 0, 3, 1));
  weir_pitched rows = {.data = data, .width = 8, .height = 8, .depth = 1, .row_pitch = 16};
  IS_WRONG("1, 2 or 4", weir_stream_fill_pitched(stream, &rows, 6, 3));
  rows.width = 6;
  IS_WRONG("whole number", weir_stream_fill_pitched(stream, &rows, 6, 4));
  IS_WRONG("source is null", weir_stream_copy(stream, data, NULL, 4));
  IS_WRONG("source is null", weir_device_copy(device, data, NULL, 4));
  IS_WRONG("copies", weir_stream_copy_batch(stream, NULL, 1, WEIR_SOURCE_ANY_TIME));
  IS_WRONG("access is 3", weir_stream_copy_batch(stream, NULL, 0, (weir_source_access)3));
  IS_WRONG("condition is 4", weir_stream_wait_value32(stream, data, 5, (weir_wait_condition)4, 0));
  IS_WRONG("flags has bits", weir_stream_wait_value32(stream, data, 5, WEIR_WAIT_EQ, 2));
  const weir_memory_operation operation = {.kind = (weir_memory_operation_kind)5};
  IS_WRONG("kind is 5", weir_stream_batch_memory_operations(stream, &operation, 1));
  IS_WRONG("mode is 3", weir_stream_attach_memory(stream, memory, (weir_attach_mode)3));
  IS_WRONG("target is 2", weir_stream_prefetch(stream, memory, 0, 1, (weir_prefetch_target)2));

  const weir_text_pair incomplete = {"NAME", NULL};
  weir_compile_options compilation = {.struct_size = sizeof(compilation), .flags = 4};
  IS_WRONG("options->flags", weir_module_compile(device, "", &compilation, &no_module));
  compilation = (weir_compile_options){.struct_size = sizeof(compilation), .defines = &incomplete, .define_count = 1};
  IS_WRONG("options->defines", weir_module_compile(device, "", &compilation, &no_module));
  compilation = (weir_compile_options){.struct_size = sizeof(compilation), .extra_count = 1};
  IS_WRONG("options->extra", weir_module_compile(device, "", &compilation, &no_module));
  IS_WRONG("image is null", weir_module_load(device, NULL, 1, &no_module));
  weir_launch_config config = {.struct_size = sizeof(config)};
  IS_WRONG("", weir_grid_for(1, 0, &config));
  OK(weir_grid_for(1000, 128, &config));
  CHECK(config.grid.x == 8 && config.grid.y == 1 && config.block.x == 128 && config.flags == 0);

  CHECK(no_stream == NULL && no_event == NULL && no_memory == NULL && no_module == NULL);
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

static void test_launch_arguments(void) {
  if (test_module() == NULL) return;
  weir_stream* const stream = new_stream();
  weir_kernel* const add = test_kernel("add");
  weir_allocation* const memory = new_pinned(sizeof(int));
  int* value = weir_allocation_data(memory);
  int more = 5;
  void* arguments[] = {(void*)&value, &more};
  const size_t sizes[] = {sizeof(value), sizeof(more)}, wrong_sizes[] = {sizeof(value), sizeof(double)};
  const weir_launch_config one = {.struct_size = sizeof(one), .grid = {1, 0, 0}, .block = {1, 0, 0}};
  weir_launch_config wrong = {.struct_size = sizeof(one), .grid = {1, 0, 0}, .block = {1, 0, 0}, .flags = 8};
  OK(weir_stream_launch(stream, add, &one, arguments, sizes, 2));
  OK(weir_stream_synchronize(stream));
  CHECK(*value == 5);
  size_t count = 0;
  if (weir_kernel_get_parameter_sizes(add, 0, NULL, &count) == WEIR_SUCCESS) {
    OK(weir_stream_launch(stream, add, &one, arguments, NULL, 2));
    IS_WRONG("takes 2 arguments", weir_stream_launch(stream, add, &one, arguments, NULL, 1));
    IS_WRONG("takes 2 arguments", weir_stream_launch(stream, add, &one, arguments, sizes, 1));
    IS_WRONG("argument 2", weir_stream_launch(stream, add, &one, arguments, wrong_sizes, 2));
  }
  IS_WRONG("arguments is null", weir_stream_launch(stream, add, &one, NULL, sizes, 2));
  weir_argument_kind kinds[] = {WEIR_ARGUMENT_ADDRESS, WEIR_ARGUMENT_ADDRESS};
  IS_WRONG("argument 2 is an address", weir_stream_launch_typed(stream, add, &one, arguments, sizes, kinds, 2));
  kinds[1] = (weir_argument_kind)9;
  IS_WRONG("kinds is 9", weir_stream_launch_typed(stream, add, &one, arguments, sizes, kinds, 2));
  IS_WRONG("kinds is null", weir_stream_launch_typed(stream, add, &one, arguments, sizes, NULL, 2));
  IS_WRONG("config is null", weir_stream_launch(stream, add, NULL, arguments, sizes, 2));
  IS_WRONG("config->flags", weir_stream_launch(stream, add, &wrong, arguments, sizes, 2));

  if (has(WEIR_FEATURE_GRAPH_NODE_CHANGES) && can_capture(stream)) {
    weir_graph* graph = NULL;
    weir_graph_exec* exec = NULL;
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_fill(stream, value, 7, 4, 1));
    OK(weir_stream_end_capture(stream, &graph));
    OK(weir_graph_instantiate(graph, 0, &exec));
    weir_node_change change = {.kind = WEIR_CHANGE_FILL, .destination = value, .count = 1, .element_size = 3};
    IS_WRONG("not of 3", weir_graph_exec_apply(exec, &change, 1));
    change.kind = (weir_node_change_kind)5;
    IS_WRONG("a change's kind is 5", weir_graph_exec_apply(exec, &change, 1));
    change.kind = WEIR_CHANGE_KERNEL;
    IS_WRONG("a change's kernel is null", weir_graph_exec_apply(exec, &change, 1));
    IS_WRONG("changes is null", weir_graph_exec_apply(exec, NULL, 1));
    OK(weir_graph_exec_apply(exec, NULL, 0));
    weir_graph_exec_release(exec);
    IS_WRONG("flags has bits", weir_graph_instantiate(graph, 8, &exec));
    weir_graph_release(graph);
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_RELAXED));
    IS_WRONG("nodes is null", weir_stream_set_capture_dependencies(stream, NULL, 2));
    IS_WRONG("node is null", weir_stream_last_captured_node(stream, NULL));
    OK(weir_stream_discard_capture(stream));
  }
  weir_kernel_release(add);
  OK(weir_stream_synchronize(stream));
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

// Host functions and callbacks: a refused call destroys the data, once, before it returns.
static void test_refused_callbacks(void) {
  weir_stream* const stream = new_stream();
  counted data = {0};
  IS_WRONG("stream is null", weir_stream_launch_host_function(NULL, count_call, count_destroy, &data));
  IS_WRONG("function is null", weir_stream_launch_host_function(stream, NULL, count_destroy, &data));
  IS_WRONG("function is null", weir_stream_launch_named_host_function(stream, "f", NULL, count_destroy, &data));
  IS_WRONG("callback is null", weir_stream_add_callback(stream, NULL, count_destroy, &data));
  OK(weir_stream_close(stream));
  FAILS(WEIR_ERROR_STREAM_CLOSED, "closed", weir_stream_launch_host_function(stream, count_call, count_destroy, &data));
  FAILS(WEIR_ERROR_STREAM_CLOSED, "closed", weir_stream_add_callback(stream, count_status, count_destroy, &data));
  CHECK(atomic_load(&data.destroyed) == 6 && atomic_load(&data.calls) == 0);
  weir_stream_release(stream);
}

void test_arguments(void) {
  test_nulls();
  test_numbers();
  test_launch_arguments();
  test_refused_callbacks();
}

// A stream fills memory, and another one launches a kernel whose second argument is a number: the memory's address. `kind`:
// what is said of it. With `weir race`, tests/c/CMakeLists.txt says which of these are races.
static void launch_beside_a_fill(weir_argument_kind kind) {
  if (test_module() == NULL) return;
  weir_stream* const filling = new_stream();
  weir_stream* const stream = new_stream();
  weir_kernel* const store = test_kernel("store");
  weir_allocation* const filled = new_pinned(4096);
  weir_allocation* const memory = new_pinned(8);
  void* to = weir_allocation_data(memory);
  void* number = weir_allocation_data(filled);
  void* arguments[] = {&to, &number};
  const size_t sizes[] = {sizeof(to), sizeof(number)};
  const weir_argument_kind kinds[] = {WEIR_ARGUMENT_ADDRESS, kind};
  const weir_launch_config one = {.struct_size = sizeof(one), .grid = {1, 0, 0}, .block = {1, 0, 0}};
  OK(weir_stream_fill(filling, number, 1, 4, 1024));
  OK(weir_stream_launch_typed(stream, store, &one, arguments, sizes, kinds, 2));
  OK(weir_stream_synchronize(filling));
  OK(weir_stream_synchronize(stream));
  CHECK(*(uint64_t*)to == (uintptr_t)number);
  weir_kernel_release(store);
  weir_stream_release(filling);
  weir_stream_release(stream);
  weir_allocation_release(filled);
  weir_allocation_release(memory);
}

void test_launch_kinds(void) {
  launch_beside_a_fill(WEIR_ARGUMENT_INTEGER);
  launch_beside_a_fill(WEIR_ARGUMENT_VALUE);
}

void test_launch_opaque(void) { launch_beside_a_fill(WEIR_ARGUMENT_OPAQUE); }
