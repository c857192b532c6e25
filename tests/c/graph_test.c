// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Captures and graphs.

void test_captures(void) {
  weir_stream* const stream = new_stream();
  weir_stream* const fork = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  void* const data = weir_allocation_data(memory);
  weir_graph* graph = NULL;
  weir_capture_status status = WEIR_CAPTURE_ACTIVE;
  uint64_t id = 1;
  bool complete = false;

  if (!can_capture(stream)) goto end;
  OK(weir_stream_capture_info(stream, &status, &id, &graph));
  CHECK(status == WEIR_CAPTURE_NONE && id == 0 && graph == NULL);
  FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_end_capture(stream, &graph));
  FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_discard_capture(stream));
  FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_join_capture(stream));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "mode is 3", weir_stream_begin_capture(stream, (weir_capture_mode)3));
  weir_stream* legacy = NULL;
  OK(weir_stream_get_default(test_device(), &legacy));
  FAILS(WEIR_ERROR_CAPTURE_UNSUPPORTED, "legacy", weir_stream_begin_capture(legacy, WEIR_CAPTURE_RELAXED));
  weir_stream_release(legacy);

  // What does not go with a capture is refused, and the capture goes on.
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_ALREADY_CAPTURING, "", weir_stream_begin_capture(stream, WEIR_CAPTURE_RELAXED));
  FAILS(WEIR_ERROR_CAPTURE_UNSUPPORTED, "", weir_stream_synchronize(stream));
  FAILS(WEIR_ERROR_CAPTURE_UNSUPPORTED, "", weir_stream_query(stream, &complete));
  FAILS(WEIR_ERROR_CAPTURE_UNSUPPORTED, "", weir_stream_read(stream, data, data, 4));
  weir_allocation* refused = NULL;
  FAILS(WEIR_ERROR_CAPTURE_UNSUPPORTED, "", weir_allocation_create(test_device(), 1, WEIR_MEMORY_DEVICE, &refused));
  CHECK(refused == NULL);
  weir_allocation* const extra = weir_allocation_retain(memory);
  weir_allocation_release(extra);

  // Fork and join, by an event and by a stream.
  OK(weir_stream_fill(stream, data, 1, 4, 4));
  weir_event* event = NULL;
  OK(weir_stream_record(stream, 0, &event));
  OK(weir_stream_wait_event(fork, event));
  OK(weir_stream_capture_info(fork, &status, NULL, NULL));
  CHECK(status == WEIR_CAPTURE_ACTIVE);
  OK(weir_stream_fill(fork, (char*)data + 64, 2, 4, 4));
  OK(weir_stream_fill(stream, (char*)data + 128, 3, 4, 4));
  FAILS(WEIR_ERROR_CAPTURE_UNMATCHED, "", weir_stream_end_capture(fork, &graph));
  FAILS(WEIR_ERROR_CAPTURED_EVENT, "", weir_event_synchronize(event));
  OK(weir_stream_wait_stream(stream, fork));
  OK(weir_stream_fill(stream, (char*)data + 192, 4, 4, 4));
  OK(weir_stream_capture_info(stream, &status, &id, &graph));
  CHECK(status == WEIR_CAPTURE_ACTIVE && id != 0);
  weir_graph_release(graph);
  graph = NULL;
  OK(weir_stream_end_capture(stream, &graph));
  OK(weir_stream_capture_info(fork, &status, &id, NULL));
  CHECK(status == WEIR_CAPTURE_NONE && id == 0);
  weir_event_release(event);

  // a -> (b, c) -> d
  size_t nodes = 0, edges = 0;
  weir_graph_edge all[8];
  OK(weir_graph_get_nodes(graph, 0, NULL, &nodes));
  OK(weir_graph_get_edges(graph, 8, all, &edges));
  CHECK(nodes == 4 && edges == 4);
  int out_of_first = 0, into_last = 0;
  for (size_t i = 0; i < edges; ++i) {
    out_of_first += all[i].from == 0;
    into_last += all[i].to == 3;
  }
  CHECK(out_of_first == 2 && into_last == 2);
  CHECK(*(uint32_t*)data == 0);  // nothing has run
  weir_graph_release(graph);

  // A fork that is not joined.
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_fill(stream, data, 1, 4, 4));
  OK(weir_stream_wait_stream(fork, stream));
  OK(weir_stream_fill(fork, (char*)data + 64, 2, 4, 4));
  graph = NULL;
  FAILS(WEIR_ERROR_CAPTURE_UNJOINED, "", weir_stream_end_capture(stream, &graph));
  CHECK(graph == NULL);

  // A capture that other code began on the same stream.
  weir_stream* wrapper = NULL;
  void* native = NULL;
  OK(weir_stream_share_native_handle(stream, &native));
  OK(weir_stream_wrap(test_device(), native, WEIR_OWNERSHIP_BORROW, NULL, NULL, &wrapper));
  OK(weir_stream_begin_capture(wrapper, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_join_capture(stream));
  OK(weir_stream_fill(stream, data, 1, 4, 4));
  graph = NULL;
  OK(weir_stream_end_capture(stream, &graph));
  CHECK(graph == NULL);
  OK(weir_stream_end_capture(wrapper, &graph));
  OK(weir_graph_get_nodes(graph, 0, NULL, &nodes));
  CHECK(nodes == 1);
  weir_graph_release(graph);
  weir_stream_release(wrapper);

  // An event of outside.
  OK(weir_stream_record(fork, 0, &event));
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_RELAXED));
  FAILS(WEIR_ERROR_CAPTURE_ISOLATION, "", weir_stream_wait_event(stream, event));
  OK(weir_stream_discard_capture(stream));
  weir_event_release(event);

end:
  weir_stream_release(stream);
  weir_stream_release(fork);
  weir_allocation_release(memory);
}

static weir_graph* fill_graph(weir_stream* stream, void* data, uint32_t value) {
  weir_graph* graph = NULL;
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  OK(weir_stream_fill(stream, data, value, 4, 16));
  OK(weir_stream_end_capture(stream, &graph));
  return graph;
}

void test_graphs(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  uint32_t* const data = weir_allocation_data(memory);
  weir_graph_exec* exec = NULL;
  char* text = NULL;

  if (!can_capture(stream)) {
    weir_stream_release(stream);
    weir_allocation_release(memory);
    return;
  }
  weir_graph* const graph = fill_graph(stream, data, 7);
  CHECK(weir_graph_device(graph) == test_device() && weir_graph_retain(graph) == graph);
  (void)weir_graph_native_handle(graph);
  weir_graph_release(graph);
  OK(weir_graph_describe(graph, &text));
  CHECK(strstr(text, "graph") != NULL);
  weir_free(text);
  if (NEEDS(WEIR_FEATURE_GRAPH_DEBUG_DOT, weir_graph_debug_dot(graph, &text))) {
    CHECK(strstr(text, "digraph") != NULL);
    weir_free(text);
  }
  weir_node_kind kind = WEIR_NODE_OTHER;
  size_t count = 0;
  OK(weir_graph_get_nodes(graph, 1, &kind, &count));
  CHECK(count == 1 && kind == WEIR_NODE_FILL);

  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "flags", weir_graph_instantiate(graph, 8, &exec));
  OK(weir_graph_instantiate(graph, WEIR_INSTANTIATE_NO_AUTO_FREE, &exec));
  weir_graph_exec_release(exec);
  OK(weir_graph_instantiate(graph, 0, &exec));
  CHECK(weir_graph_exec_device(exec) == test_device() && weir_graph_exec_retain(exec) == exec);
  (void)weir_graph_exec_native_handle(exec);
  weir_graph_exec_release(exec);
  OK(weir_graph_exec_describe(exec, &text));
  weir_free(text);
  NEEDS(WEIR_FEATURE_GRAPH_UPLOAD, weir_graph_exec_upload(exec, stream));
  for (int i = 0; i < 3; ++i) {
    data[15] = 0;
    OK(weir_graph_exec_launch(exec, stream));
    OK(weir_stream_synchronize(stream));
    CHECK(data[0] == 7 && data[15] == 7);
  }

  // Update, clone, child.
  weir_graph* const other = fill_graph(stream, data, 9);
  if (NEEDS(WEIR_FEATURE_GRAPH_UPDATE, weir_graph_exec_update(exec, other))) {
    OK(weir_graph_exec_launch(exec, stream));
    OK(weir_stream_synchronize(stream));
    CHECK(data[0] == 9);
    weir_graph* empty = NULL;
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_end_capture(stream, &empty));
    FAILS(WEIR_ERROR_GRAPH_UPDATE_FAILED, "", weir_graph_exec_update(exec, empty));
    weir_graph_release(empty);
  }
  weir_graph* clone = NULL;
  if (NEEDS(WEIR_FEATURE_GRAPH_CLONE, weir_graph_clone(graph, &clone))) weir_graph_release(clone);
  if (has(WEIR_FEATURE_GRAPH_CHILD_NODES)) {
    FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_add_child_graph(stream, graph));
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_add_child_graph(stream, graph));
    weir_graph* parent = NULL;
    OK(weir_stream_end_capture(stream, &parent));
    OK(weir_graph_get_nodes(parent, 1, &kind, &count));
    CHECK(count == 1 && kind == WEIR_NODE_CHILD_GRAPH);
    weir_graph_release(parent);
  }
  if (has(WEIR_FEATURE_CAPTURE_INTO_GRAPH)) {
    OK(weir_stream_resume_capture(stream, other, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_fill(stream, data, 11, 4, 16));
    weir_graph* same = NULL;
    OK(weir_stream_end_capture(stream, &same));
    CHECK(same == other);
    OK(weir_graph_get_nodes(same, 0, NULL, &count));
    CHECK(count == 2);
    weir_graph_release(same);
  }
  weir_graph_release(other);
  weir_graph_release(graph);
  weir_graph_exec_release(exec);
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

static weir_result body_fails(weir_stream* stream, void* user_data) {
  (void)user_data;
  return weir_stream_synchronize(stream);
}

static weir_result body_refuses(weir_stream* stream, void* user_data) {
  (void)stream, (void)user_data;
  return WEIR_ERROR_NOT_READY;
}

static weir_result body_fills(weir_stream* stream, void* user_data) { return weir_stream_fill(stream, user_data, 5, 4, 4); }

static weir_result body_counts_down(weir_stream* stream, void* user_data) {
  const weir_launch_config one = {.struct_size = sizeof(one), .grid = {1, 0, 0}, .block = {1, 0, 0}};
  weir_kernel* const kernel = test_kernel("count_down");
  void* arguments[] = {&user_data};
  const weir_result result = weir_stream_launch(stream, kernel, &one, arguments, NULL, 1);
  weir_kernel_release(kernel);
  return result;
}

static void capture_conditionals(weir_stream* stream, uint32_t* data) {
  FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_capture_if(stream, data, body_fills, data + 16));
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "body is null", weir_stream_capture_if(stream, data, NULL, NULL));
  OK(weir_stream_capture_if(stream, data, body_fills, data + 16));
  weir_module* const module = test_module();
  if (module != NULL) OK(weir_stream_capture_while(stream, data, body_counts_down, data));
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  OK(weir_stream_end_capture(stream, &graph));
  OK(weir_graph_instantiate(graph, 0, &exec));
  OK(weir_graph_exec_launch(exec, stream));
  OK(weir_stream_synchronize(stream));
  CHECK(data[16] == 0);
  data[0] = 3;
  OK(weir_graph_exec_launch(exec, stream));
  OK(weir_stream_synchronize(stream));
  CHECK(data[16] == 5 && data[0] == (module != NULL ? 0 : 3));
  weir_graph_exec_release(exec);
  weir_graph_release(graph);

  // What a body returns comes out; the message is that of the call that failed in it.
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  CHECK(weir_stream_capture_if(stream, data, body_fails, NULL) == WEIR_ERROR_CAPTURE_UNSUPPORTED);
  CHECK(strstr(weir_last_error_message(), "weir_stream_synchronize") == weir_last_error_message());
  OK(weir_stream_discard_capture(stream));
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_NOT_READY, "the body returned 22", weir_stream_capture_while(stream, data, body_refuses, NULL));
  OK(weir_stream_discard_capture(stream));
}

static weir_result body_fills_number(weir_stream* stream, size_t number, void* user_data) {
  return number == 2 ? WEIR_ERROR_NOT_READY : weir_stream_fill(stream, user_data, (uint32_t)number + 10, 4, 1);
}

static weir_result body_fills_nine(weir_stream* stream, void* user_data) {
  return weir_stream_fill(stream, user_data, 9, 4, 4);
}

/// The value decides which body runs.
static void capture_choices(weir_stream* stream, uint32_t* data) {
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "otherwise is null", weir_stream_capture_if_else(stream, data, body_fills, NULL, data));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "body is null", weir_stream_capture_switch(stream, data, 2, NULL, data));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "there is no body",
        weir_stream_capture_switch(stream, data, 0, body_fills_number, data));
  OK(weir_stream_capture_if_else(stream, data, body_fills, body_fills_nine, data + 16));
  OK(weir_stream_capture_switch(stream, data, 2, body_fills_number, data + 32));
  OK(weir_stream_end_capture(stream, &graph));
  OK(weir_graph_instantiate(graph, 0, &exec));
  const uint32_t chosen[] = {10, 11, 0};
  for (uint32_t value = 0; value < 3; ++value) {
    data[0] = value;
    data[32] = 0;
    OK(weir_graph_exec_launch(exec, stream));
    OK(weir_stream_synchronize(stream));
    CHECK(data[16] == (value != 0 ? 5 : 9) && data[32] == chosen[value]);
  }
  weir_graph_exec_release(exec);
  weir_graph_release(graph);
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  FAILS(WEIR_ERROR_NOT_READY, "the body returned 22", weir_stream_capture_switch(stream, data, 3, body_fills_number, data));
  OK(weir_stream_discard_capture(stream));
}

/// A graph by hand, and changes of its nodes.
static void change_nodes(weir_stream* stream, uint32_t* data) {
  weir_module* const module = test_module();
  weir_kernel* const add = module != NULL ? test_kernel("add") : NULL;
  weir_launch_config one = {.struct_size = sizeof(one), .grid = {1, 0, 0}, .block = {1, 0, 0}};
  uint32_t* value = data;
  int more = 1;
  void* arguments[] = {&value, &more};
  uint32_t nodes[3] = {9, 9, 9};
  weir_graph* graph = NULL;
  weir_graph_exec* exec = NULL;
  FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_last_captured_node(stream, &nodes[0]));
  FAILS(WEIR_ERROR_NOT_CAPTURING, "", weir_stream_set_capture_dependencies(stream, NULL, 0));
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_RELAXED));
  OK(weir_stream_fill(stream, data, 1, 4, 4));
  OK(weir_stream_last_captured_node(stream, &nodes[0]));
  OK(weir_stream_set_capture_dependencies(stream, NULL, 0));
  OK(weir_stream_fill(stream, data + 16, 2, 4, 4));
  OK(weir_stream_last_captured_node(stream, &nodes[1]));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "nodes is null", weir_stream_set_capture_dependencies(stream, NULL, 2));
  OK(weir_stream_set_capture_dependencies(stream, nodes, 2));
  OK(weir_stream_copy(stream, data + 32, data, 16));
  OK(weir_stream_last_captured_node(stream, &nodes[2]));
  if (add != NULL) OK(weir_stream_launch(stream, add, &one, arguments, NULL, 2));
  CHECK(nodes[0] == 0 && nodes[1] == 1 && nodes[2] == 2);
  OK(weir_stream_end_capture(stream, &graph));
  size_t edges = 0;
  OK(weir_graph_get_edges(graph, 0, NULL, &edges));
  CHECK(edges == (add != NULL ? 3u : 2u));
  OK(weir_graph_instantiate(graph, 0, &exec));

  value = data + 16;
  more = 40;
  const weir_node_change changes[] = {
      {.kind = WEIR_CHANGE_FILL, .node = nodes[0], .destination = data, .count = 8, .element_size = 2, .value = 0x10003},
      {.kind = WEIR_CHANGE_COPY, .node = nodes[2], .destination = data + 32, .source = data + 16, .count = 8},
      {.kind = WEIR_CHANGE_DISABLE, .node = nodes[1]},
      {.kind = WEIR_CHANGE_ENABLE, .node = nodes[1]},
      {.kind = WEIR_CHANGE_KERNEL, .node = 3, .kernel = add, .config = &one, .arguments = arguments, .argument_count = 2},
  };
  OK(weir_graph_exec_apply(exec, changes, add != NULL ? 5 : 4));
  OK(weir_graph_exec_launch(exec, stream));
  OK(weir_stream_synchronize(stream));
  CHECK(data[0] == 0x30003 && data[3] == 0x30003);
  CHECK(data[32] == 2 && data[33] == 2 && data[16] == (add != NULL ? 42 : 2));

  weir_node_change wrong = {.kind = WEIR_CHANGE_FILL, .node = nodes[0], .destination = data, .count = 1, .element_size = 3};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "not of 3", weir_graph_exec_apply(exec, &wrong, 1));
  wrong.kind = (weir_node_change_kind)5;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "a change's kind is 5", weir_graph_exec_apply(exec, &wrong, 1));
  wrong.kind = WEIR_CHANGE_KERNEL;
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "a change's kernel is null", weir_graph_exec_apply(exec, &wrong, 1));
  wrong.kind = WEIR_CHANGE_COPY;
  wrong.source = data;
  FAILS(WEIR_ERROR_GRAPH_UPDATE_FAILED, "", weir_graph_exec_apply(exec, &wrong, 1));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "changes is null", weir_graph_exec_apply(exec, NULL, 1));
  OK(weir_graph_exec_apply(exec, NULL, 0));
  weir_kernel_release(add);
  weir_graph_exec_release(exec);
  weir_graph_release(graph);
}

void test_node_changes(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  uint32_t* const data = weir_allocation_data(memory);
  if (can_capture(stream)) {
    if (has(WEIR_FEATURE_GRAPH_SWITCH_NODES)) capture_choices(stream, data);
    if (has(WEIR_FEATURE_GRAPH_NODE_CHANGES)) change_nodes(stream, data);
  }
  weir_stream_release(stream);
  weir_allocation_release(memory);
}

void test_conditionals(void) {
  weir_stream* const stream = new_stream();
  weir_allocation* const memory = new_pinned(4096);
  uint32_t* const data = weir_allocation_data(memory);
  if (has(WEIR_FEATURE_GRAPH_CONDITIONAL_NODES) && can_capture(stream)) {
    capture_conditionals(stream, data);
  } else if (!has(WEIR_FEATURE_GRAPH_CONDITIONAL_NODES)) {
    NEEDS(WEIR_FEATURE_GRAPH_CONDITIONAL_NODES, weir_stream_capture_if(stream, data, body_fills, data + 16));
  }
  weir_stream_release(stream);
  weir_allocation_release(memory);
}
