// SPDX-License-Identifier: Apache-2.0
#include "tests/c/check.h"

// Tests host functions and callbacks: their order, and that their data is destroyed exactly once in all cases.

typedef struct calling {
  counted count;
  weir_result result;  // of a call of Weir
  bool complete;
  weir_stream* stream;
} calling;

static void call_weir(void* user_data) {
  calling* const data = user_data;
  data->result = weir_stream_query(data->stream, &data->complete);
  weir_stream_release(data->stream);  // this may be done
  count_call(&data->count);
}

static void count_status(weir_stream* stream, weir_result status, void* user_data) {
  CHECK(weir_stream_device(stream) == test_device());
  ((counted*)user_data)->status = status;
  count_call(user_data);
}

// So much later that only a stream's own work can have kept it.
static void wait_until(atomic_int* value, int expected) {
  for (int i = 0; i < 100000 && atomic_load(value) != expected; ++i) OK(weir_device_synchronize(test_device()));
  CHECK(atomic_load(value) == expected);
}

void test_host_functions(void) {
  weir_stream* stream = new_stream();
  counted data = {0};
  if (!NEEDS(WEIR_FEATURE_HOST_FUNCTIONS, weir_stream_launch_host_function(stream, count_call, count_destroy, &data))) {
    CHECK(atomic_load(&data.destroyed) == 1 && atomic_load(&data.calls) == 0);
    weir_stream_release(stream);
    return;
  }
  OK(weir_stream_synchronize(stream));
  CHECK(atomic_load(&data.calls) == 1);
  wait_until(&data.destroyed, 1);
  OK(weir_stream_launch_host_function(stream, count_call, NULL, &data));  // no destructor
  OK(weir_stream_synchronize(stream));
  CHECK(atomic_load(&data.calls) == 2);
  OK(weir_stream_launch_named_host_function(stream, "count", count_call, NULL, &data));
  OK(weir_stream_launch_named_host_function(stream, NULL, count_call, NULL, &data));
  OK(weir_stream_synchronize(stream));
  CHECK(atomic_load(&data.calls) == 4);

  // A call that fails destroys the data before it returns.
  counted failed = {0};
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "stream is null",
        weir_stream_launch_host_function(NULL, count_call, count_destroy, &failed));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "function is null",
        weir_stream_launch_host_function(stream, NULL, count_destroy, &failed));
  weir_stream* const closed = new_stream();
  OK(weir_stream_close(closed));
  FAILS(WEIR_ERROR_STREAM_CLOSED, "closed", weir_stream_launch_host_function(closed, count_call, count_destroy, &failed));
  FAILS(WEIR_ERROR_STREAM_CLOSED, "closed", weir_stream_add_callback(closed, count_status, count_destroy, &failed));
  FAILS(WEIR_ERROR_INVALID_ARGUMENT, "callback is null", weir_stream_add_callback(stream, NULL, count_destroy, &failed));
  weir_stream_release(closed);
  CHECK(atomic_load(&failed.destroyed) == 5 && atomic_load(&failed.calls) == 0);

  // A host function may let go of objects, and may not call Weir.
  calling inside = {.stream = weir_stream_retain(stream), .complete = true};
  OK(weir_stream_launch_host_function(stream, call_weir, NULL, &inside));
  OK(weir_stream_synchronize(stream));
  CHECK(atomic_load(&inside.count.calls) == 1 && inside.result == WEIR_ERROR_CALLED_FROM_HOST_FUNCTION && inside.complete);

  // A stream that is destroyed while its functions wait: they still run, and each is destroyed once.
  counted late = {0};
  latch gate;
  hold(stream, &gate);
  for (int i = 0; i < 3; ++i) OK(weir_stream_launch_host_function(stream, count_call, count_destroy, &late));
  weir_stream_release(stream);
  CHECK(atomic_load(&late.calls) == 0 && atomic_load(&late.destroyed) == 0);
  open_latch(&gate);
  wait_until(&late.destroyed, 3);
  CHECK(atomic_load(&late.calls) == 3);
}

void test_callbacks(void) {
  weir_stream* const stream = new_stream();
  counted data = {.status = WEIR_ERROR_UNKNOWN};
  if (NEEDS(WEIR_FEATURE_STREAM_CALLBACKS, weir_stream_add_callback(stream, count_status, count_destroy, &data))) {
    OK(weir_stream_synchronize(stream));
    CHECK(atomic_load(&data.calls) == 1 && data.status == WEIR_SUCCESS);
    wait_until(&data.destroyed, 1);
  }
  if (atomic_load(&data.calls) == 1 && can_capture(stream)) {
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    FAILS(WEIR_ERROR_CAPTURE_UNSUPPORTED, "", weir_stream_add_callback(stream, count_status, count_destroy, &data));
    CHECK(atomic_load(&data.destroyed) == 2 && atomic_load(&data.calls) == 1);
    OK(weir_stream_discard_capture(stream));
  }
  weir_stream_release(stream);
}

void test_graph_host_functions(void) {
  weir_stream* const stream = new_stream();
  counted data = {0};
  if (!can_capture(stream)) {
    weir_stream_release(stream);
    return;
  }
  OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
  if (NEEDS(WEIR_FEATURE_HOST_FUNCTIONS_IN_CAPTURE,
            weir_stream_launch_host_function(stream, count_call, count_destroy, &data))) {
    weir_graph* graph = NULL;
    weir_graph_exec* exec = NULL;
    OK(weir_stream_end_capture(stream, &graph));
    OK(weir_graph_instantiate(graph, 0, &exec));
    weir_graph_release(graph);
    for (int i = 0; i < 3; ++i) OK(weir_graph_exec_launch(exec, stream));
    OK(weir_stream_synchronize(stream));
    CHECK(atomic_load(&data.calls) == 3 && atomic_load(&data.destroyed) == 0);
    weir_graph_exec_release(exec);
    wait_until(&data.destroyed, 1);

    // Dropped with the capture: never called, and destroyed once.
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_launch_host_function(stream, count_call, count_destroy, &data));
    OK(weir_stream_discard_capture(stream));
    wait_until(&data.destroyed, 2);
    // And with a stream that is closed in its capture.
    OK(weir_stream_begin_capture(stream, WEIR_CAPTURE_THREAD_LOCAL));
    OK(weir_stream_launch_host_function(stream, count_call, count_destroy, &data));
    OK(weir_stream_close(stream));
    wait_until(&data.destroyed, 3);
    CHECK(atomic_load(&data.calls) == 3);
  } else {
    CHECK(atomic_load(&data.destroyed) == 1);
    OK(weir_stream_discard_capture(stream));
  }
  weir_stream_release(stream);
}
